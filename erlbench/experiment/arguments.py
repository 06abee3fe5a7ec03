"""The options of `erlbench run`: one dataclass for the command line, --config files and the documentation."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erlbench.errors import UsageError, nearest
from erlbench.experiment import shards
from erlbench.experiment.cells import EVALUATE, FINAL_EPISODES, HUNG_AFTER, OWN, SHARED, RunOptions, check_name
from erlbench.experiment.pool_kind import LOCAL, check_kind
from erlbench.experiment.shards import Shard
from erlbench.experiment.toml_file import TomlFile
from erlbench.records.older import of_today
from erlbench.resources import cores
from erlbench.settings import MOST, MOST_AT_ONCE, check_value, setting

MOST_SEEDS = 10_000
MOST_EPISODES = 1000  # of one evaluation, which is one task
MOST_PROCESSES = 1024
TABLES = {"set": "settings", "env_set": "env_settings", "slurm_set": "slurm"}  # of KEY=VALUE; tables of a file

BESIDE_A_PLAN = frozenset({  # what changes no planned result, or is recorded
    "plan", "only_seeds", "out", "processes", "jobs", "one_core", "device", "task_timeout", "worker_memory", "shard",
    "launcher", "slurm_partition", "slurm_time", "slurm_cpus", "slurm_mem", "slurm_set", "pool", "checkpoint_every",
    "save_replay", "force", "force_kernel", "force_identity", "dry_run", "quiet", "verbose",
})  # fmt: skip


@dataclass(frozen=True)
class RunArguments:
    """What the user asked for; None where it is left to the study, the algorithm or the machine."""

    algo: tuple[str, ...] = setting((), "algorithms, as NAME or NAME@PRESET; with --study, only these entries")
    env: tuple[str, ...] = setting((), "environments, as ID or ID@PRESET; with --study, only these of its environments")
    preset: str | None = setting(None, "preset of the algorithms given without one [default: paper]")
    study: tuple[str, ...] = setting((), "studies of benchmarks.toml, instead of --algo and --env")
    studies: tuple[str, ...] = setting((), "files with studies of your own; studies.toml in this folder is always read")
    plan: str | None = setting(None, "the written plan of a study, a TOML file; it decides all that changes a result")
    only_seeds: int | None = setting(
        None, "with --plan: only its first N seeds, all cells of each [default: all]", minimum=1, maximum=MOST_SEEDS
    )
    profile: str | None = setting(None, "budget of the studies: smoke, laptop or paper [default: smoke]")
    seed: int | None = setting(None, "one seed [default: 0]", minimum=0, maximum=MOST)
    seeds: tuple[int, ...] | None = setting(None, "several seeds: 10 (the first ten), or 0,3,5-9")
    total_timesteps: int | None = setting(
        None, "training steps per cell; a larger number extends a finished run [default: 1e6]", minimum=1, maximum=MOST
    )
    total_generations: int | None = setting(
        None, "end after so many generations, if the steps are not used up before", minimum=1, maximum=MOST
    )
    total_minutes: float | None = setting(
        None,
        "with --simulated-time: modelled minutes of training after which a run ends, with --total-timesteps when both "
        "have passed",
        minimum=0.001,
        maximum=MOST,
    )
    workers: int | None = setting(
        None, "individuals that run at the same time [default: the algorithm's]", minimum=1, maximum=MOST_AT_ONCE
    )
    set: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, metadata={"help": "a hyper-parameter, see `erlbench list algos -v`"}
    )
    env_set: Mapping[str, Any] = dataclasses.field(
        default_factory=dict,
        metadata={"help": "max_episode_steps, frame_skip or a keyword argument of the environments"},
    )
    config: str | None = setting(None, "TOML file with any of these options and tables [settings], [env_settings]")
    simulated_time: bool = setting(
        False, "use modelled times instead of the clock, so that asynchronous runs repeat exactly"
    )
    simulated_processes: int | None = setting(
        None, "virtual processors of simulated time [default: the workers, or 1]", minimum=1, maximum=MOST_PROCESSES
    )
    simulated_critic: str | None = setting(
        None, "with --simulated-time: own processor for the critic, or one of the others [default: own]",
        choices=(OWN, SHARED),
    )  # fmt: skip
    costs: str | None = setting(None, "task durations for --simulated-time, a file of `erlbench calibrate`")
    eval_freq: int | None = setting(
        None,
        "training steps between two evaluations, which wait for a generation's end [default: 5000]",
        minimum=1,
        maximum=MOST,
    )
    eval_episodes: int | None = setting(None, "episodes per evaluation [default: 10]", minimum=1, maximum=MOST_EPISODES)
    final_episodes: int | None = setting(
        None,
        f"episodes of the final evaluation, which gives the score [default: {FINAL_EPISODES}]",
        minimum=1,
        maximum=MOST_EPISODES,
    )
    evaluate: str | None = setting(
        None,
        "evaluate the reported policy after the training, or during it on idle cores [default: after]",
        choices=EVALUATE,
    )
    processes: int | None = setting(
        None,
        "worker processes; 0: the main process runs all tasks; a study may set its own number [default: the cores]",
        minimum=0,
        maximum=MOST_PROCESSES,
    )
    launcher: str | None = setting(None, "run each cell as a job of local (submitit), slurm, ray or ray://HOST:PORT")
    slurm_partition: str | None = setting(None, "Slurm's partition")
    slurm_time: str | None = setting(
        None, "time limit of a Slurm job, in minutes or as [DAYS-]HOURS:MINUTES; then a new job continues"
    )
    slurm_cpus: int | None = setting(
        None,
        "cores of a Slurm job, and its worker processes [default: as many as the study names, else 1]",
        minimum=1,
        maximum=MOST_PROCESSES,
    )
    slurm_mem: str | None = setting(None, "memory of a Slurm job, such as 8G")
    slurm_set: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, metadata={"help": "a further option of sbatch: account, qos, constraint, ..."}
    )
    pool: str = setting("process", "where tasks run: process (this machine), ray or ray://HOST:PORT [default: process]")
    jobs: int | None = setting(
        None, "cells that run at the same time and share the processes [default: 1]", minimum=1, maximum=MOST_PROCESSES
    )
    one_core: bool = setting(False, "no process uses a second core, even if one is idle")
    device: str = setting(
        "auto", "device for gradients: auto (a GPU if found), cpu, cuda or cuda:N; untested on GPUs [default: auto]"
    )
    task_timeout: float | None = setting(
        None, "seconds after which a worker counts as hung [default: 1800]", minimum=1, maximum=1e9
    )
    worker_memory: int | None = setting(
        None, "MiB of memory after which a worker is replaced [default: no limit]", minimum=64, maximum=2**30
    )
    out: str | None = setting(None, "folder of the results [default: results, or results/PROFILE]")
    shard: Shard | None = setting(None, "run only part I of N parts of the cells; other machines run the others")
    name: str | None = setting(None, "name of the runs instead of ALGO or ALGO@PRESET")
    checkpoint_every: float = setting(60.0, "seconds between two checkpoints [default: 60]", minimum=0, maximum=1e9)
    save_replay: bool = setting(
        False, "keep the replay of a finished run, so that a run that learns from it can be extended"
    )
    keep_checkpoints: bool = setting(
        False, "keep a checkpoint of each evaluation, from which `erlbench verify --again` can begin"
    )
    force: bool = setting(False, "start again; existing runs are moved aside")
    force_kernel: bool = setting(False, "continue runs that began on another BLAS kernel")
    force_identity: bool = setting(False, "continue runs that began with other packages, source files or MuJoCo models")
    dry_run: bool = setting(False, "show settings, memory and time; run and write nothing")
    quiet: bool = setting(False, "print errors only")
    verbose: bool = setting(False, "print more messages, and tracebacks of errors")

    def __post_init__(self) -> None:
        if self.seed is not None and self.seeds is not None:
            raise UsageError("--seed and --seeds exclude one another")
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device):
            raise UsageError(f"--device must be auto, cpu, cuda or cuda:N, not '{self.device}'")
        if not self.simulated_time and (self.costs or self.simulated_processes or self.simulated_critic):
            raise UsageError("--costs, --simulated-processes and --simulated-critic need --simulated-time")
        if not self.simulated_time and self.total_minutes is not None:
            raise UsageError("--total-minutes counts modelled minutes; give --simulated-time, too")
        self._check_plan()
        check_kind(self.pool)
        if self.slurm and self.launcher != "slurm":
            raise UsageError(f"--slurm-{next(iter(self.slurm))} needs --launcher slurm")
        if self.pool != LOCAL and (self.jobs or 1) > 1:
            raise UsageError("--jobs above 1 needs --pool process: on a cluster each cell uses all nodes")
        if self.name is not None:
            check_name(self.name, "--name")
        for option in ("task_timeout", "worker_memory"):
            if self.processes == 0 and getattr(self, option) is not None:
                raise UsageError(
                    f"{_option(option)} needs worker processes that can be ended; give --processes 1 or more, not 0"
                )

    def _check_plan(self) -> None:
        """Refuse what would not follow the plan."""
        if self.plan is None:
            if self.only_seeds is not None:
                raise UsageError("--only-seeds needs --plan; without a plan give --seeds")
            return
        for item in dataclasses.fields(self):
            default = {} if item.name in TABLES else item.default
            if item.name not in BESIDE_A_PLAN and getattr(self, item.name) != default:
                raise UsageError(f"{_option(item.name)} cannot be given with --plan, which decides it; leave it out")

    @property
    def slurm(self) -> dict[str, str]:
        """What a Slurm job is asked for, by name."""
        own = {
            "partition": self.slurm_partition,
            "time": self.slurm_time,
            "cpus": self.slurm_cpus,
            "mem": self.slurm_mem,
        }
        return {name: str(value) for name, value in {**own, **self.slurm_set}.items() if value is not None}

    @property
    def all_seeds(self) -> tuple[int, ...] | None:
        """The seeds asked for."""
        return (self.seed,) if self.seed is not None else self.seeds


def arguments(given: Mapping[str, Any]) -> RunArguments:
    """The arguments from what the command line gave (the rest None or empty) over what its --config file gives."""
    given = {key: value for key, value in given.items() if value not in (None, ())}
    values: dict[str, Any] = {}
    if "config" in given:
        checked_option("config", given["config"], "--config")
        values = _from_file(Path(given["config"]))
        if "seed" in given or "seeds" in given:
            values = {key: value for key, value in values.items() if key not in ("seed", "seeds")}
    tables = {key: {**values.get(key, {}), **_assignments(given.get(key, ()), _option(key))} for key in TABLES}
    values.update({key: checked_option(key, value, _option(key)) for key, value in given.items() if key not in TABLES})
    return RunArguments(**{**values, **tables})


def run_options(asked: RunArguments, command_line: Sequence[str], part: str = "") -> RunOptions:
    """How the cells are run on this machine; `part` is the version of a plan that is run in shards."""
    return RunOptions(
        processes=cores() if asked.processes is None else asked.processes,
        pool=asked.pool,
        per_node=asked.processes,
        jobs=asked.jobs or 1,
        one_core=asked.one_core,
        device=asked.device,
        checkpoint_every=asked.checkpoint_every,
        task_timeout=asked.task_timeout or HUNG_AFTER,
        worker_memory=asked.worker_memory and asked.worker_memory << 20,
        save_replay=asked.save_replay,
        keep_checkpoints=asked.keep_checkpoints,
        force=asked.force,
        force_kernel=asked.force_kernel,
        force_identity=asked.force_identity,
        shard=str(asked.shard or ""),
        plan=part,
        studies=asked.study,
        verbosity=-1 if asked.quiet else int(asked.verbose),
        command_line=tuple(command_line),
    )


def option_fields() -> dict[str, dataclasses.Field[Any]]:
    """The options by name."""
    return {item.name: item for item in dataclasses.fields(RunArguments)}


def seed_list(value: Any, what: str) -> tuple[int, ...]:
    """Seeds from a number of seeds (10), a list, or a text such as "0,3,5-9"."""
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d+\s*", value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_SEEDS:
            hint = f"; for one seed use --seed {value}" if value >= 0 else ""
            raise UsageError(f"{what} must be 1 to {MOST_SEEDS} seeds, not {value}{hint}")
        return tuple(range(value))
    seeds: list[int] = []
    for part in value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ("",):
        match = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", str(part))
        if match is None:
            raise UsageError(f"{what} must be a number of seeds (10) or a list (0,3,5-9), not '{value}'")
        first, last = int(match[1]), int(match[2] or match[1])
        if last > MOST:
            raise UsageError(f"{what}: a seed must be at most {MOST:g}, not {match[0].strip()}")
        if last < first or last - first >= MOST_SEEDS:
            raise UsageError(f"{what}: '{part}' must be a range of 1 to {MOST_SEEDS} seeds, the smaller one first")
        seeds.extend(range(first, last + 1))
    if not seeds:
        raise UsageError(f"{what} names no seed; leave it out for seed 0")
    if len(set(seeds)) < len(seeds) or len(seeds) > MOST_SEEDS:
        raise UsageError(f"{what}: '{value}' must name each seed once, and at most {MOST_SEEDS}")
    return tuple(seeds)


def checked_option(key: str, value: Any, what: str) -> Any:
    """One option's value, from the command line or a file, as its field has it."""
    if value == "":
        raise UsageError(f"{what} needs a value, not an empty text")
    kind = typing.get_type_hints(RunArguments)[key]
    if type(None) in typing.get_args(kind):  # None is what nobody can give
        kind = next(option for option in typing.get_args(kind) if option is not type(None))
    if key == "seeds":
        return seed_list(value, what)
    if key == "shard":
        return shards.parse(str(value), what)
    if kind == tuple[str, ...]:
        parts = [value] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise UsageError(f"{what} must be a name or a list of names, not {value}")
        names = tuple(name for part in parts for name in part.replace(" ", "").split(",") if name)
        if not names:
            raise UsageError(f"{what} names nothing")
        return tuple(dict.fromkeys(names))
    return check_value(value, kind, what, option_fields()[key].metadata)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _assignments(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """`key=value` texts of an option; the last one wins."""
    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{option} needs KEY=VALUE, not '{text}'")
        values[key.strip().replace("-", "_")] = value.strip()
    return values


def _from_file(path: Path) -> dict[str, Any]:
    """A --config file: options at the top or in [run], and the `TABLES`; a run's config.toml is one."""
    file, values = TomlFile(path), {}
    tables = of_today(file.data)
    known = [name for name in option_fields() if name not in (*TABLES, "config")]
    top = {key: value for key, value in file.data.items() if key not in ("run", *TABLES.values())}
    if isinstance(top.get("costs"), dict):
        top["costs"] = str(path)  # the table of a run's config.toml
    for where, table in (((), top), (("run",), file.table(file.data.get("run", {}), ("run",)))):
        for key, value in table.items():
            name = key.replace("-", "_")
            if name not in known:
                file.fail(f"unknown option '{key}'{nearest(name, known)}", (*where, key))
            if name == "workers" and value == 0:
                continue  # what config.toml says of algorithms that have none
            with file.at((*where, key)):
                values[name] = checked_option(name, value, f"'{key}'")
    return values | {option: file.table(tables.get(name, {}), (name,)) for option, name in TABLES.items()}
