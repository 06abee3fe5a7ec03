"""The options of `erlbench run`: one declaration each for the command line, --config files and Python."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from erlbench.errors import UsageError
from erlbench.experiment.cells import CRITIC, EVALUATE, FINAL_EPISODES, OWN, SHARED, check_name
from erlbench.experiment.pool_kind import LOCAL, check_kind
from erlbench.experiment.shards import Shard
from erlbench.settings import MOST, MOST_AT_ONCE

MOST_SEEDS = 10_000
MOST_EPISODES = 1000  # of one evaluation, which is one task
MOST_PROCESSES = 1024
TABLES = {"set": "settings", "env_set": "env_settings", "slurm_set": "slurm"}  # of KEY=VALUE; tables of a file

BASIC = frozenset({  # what `--help` shows; `--help-all` shows all
    "algo", "env", "study", "profile", "seeds", "total_timesteps", "set", "processes", "jobs", "out", "tensorboard",
    "force", "dry_run",
})  # fmt: skip


def option(
    default: Any,
    help: str,
    metavar: str = "N",
    *,
    choices: Sequence[str] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    short: str = "",
    section: str = "",
) -> Any:
    """A field of `RunArguments`. An option with `section` opens a section of this title in `--help-all`."""
    metadata = {
        "help": help,
        "metavar": "|".join(choices) or metavar,
        "choices": choices,
        "minimum": minimum,
        "maximum": maximum,
        "short": short,
        "section": section,
    }
    if default == {}:
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class RunArguments:
    """What the user asked for; None where it is left to the study, the algorithm or the machine."""

    algo: tuple[str, ...] = option(
        (),
        "algorithms, as NAME or NAME@PRESET; with --study, only these entries",
        "NAME[,NAME...]",
        section="What to run",
    )
    env: tuple[str, ...] = option(
        (), "environments, as ID or ID@PRESET; with --study, only these of its environments", "ID[,ID...]"
    )
    preset: str | None = option(None, "preset of the algorithms given without one [default: paper]", "NAME")
    study: tuple[str, ...] = option((), "studies of benchmarks.toml, instead of --algo and --env", "NAME[,NAME...]")
    studies: tuple[str, ...] = option(
        (), "files with studies of your own; studies.toml in this folder is always read", "FILE"
    )
    profile: str | None = option(None, "budget of the studies: smoke, laptop or paper [default: smoke]", "NAME")
    seed: int | None = option(None, "one seed [default: 0]", minimum=0, maximum=MOST)
    seeds: tuple[int, ...] | None = option(None, "several seeds: 10 (the first ten), or 0,3,5-9", "N|LIST")
    total_timesteps: int | None = option(
        None, "training steps per cell; a larger number extends a finished run [default: 1e6]", minimum=1, maximum=MOST
    )
    total_generations: int | None = option(
        None, "end after N generations, if the steps are not used up before", minimum=1, maximum=MOST
    )
    total_minutes: float | None = option(
        None,
        "with --simulated-time: modelled minutes of training after which a run ends, with --total-timesteps when both "
        "have passed",
        "MINUTES",
        minimum=0.001,
        maximum=MOST,
    )
    workers: int | None = option(
        None, "individuals that run at the same time [default: the algorithm's]", minimum=1, maximum=MOST_AT_ONCE
    )
    set: Mapping[str, Any] = option({}, "a hyper-parameter, see `erlbench list algos -v`", "KEY=VALUE")
    env_set: Mapping[str, Any] = option(
        {}, "max_episode_steps, frame_skip or a keyword argument of the environments", "KEY=VALUE"
    )
    same: tuple[str, ...] = option(
        (),
        "settings that all algorithms have as the first one that has them; names of the changed runs end with +same",
        "KEY[,KEY...]",
    )
    config: str | None = option(
        None, "TOML file with any of these options and tables [settings], [env_settings]", "FILE"
    )
    simulated_time: bool = option(
        False, "use modelled times instead of the clock, so that asynchronous runs repeat exactly"
    )
    simulated_processes: int | None = option(
        None, "virtual processors of simulated time [default: the workers, or 1]", minimum=1, maximum=MOST_PROCESSES
    )
    simulated_critic: str | None = option(
        None,
        f"with --simulated-time: own processor for the critic, or one of the others [default: {CRITIC}]",
        choices=(OWN, SHARED),
    )
    costs: str | None = option(None, "task durations for --simulated-time, a file of `erlbench calibrate`", "FILE")
    eval_freq: int | None = option(
        None,
        "training steps between two evaluations, which wait for a generation's end [default: 5000, or a tenth of the "
        "budget where that is less]",
        minimum=1,
        maximum=MOST,
        section="Evaluation",
    )
    eval_episodes: int | None = option(None, "episodes per evaluation [default: 10]", minimum=1, maximum=MOST_EPISODES)
    final_episodes: int | None = option(
        None,
        f"episodes of the final evaluation, which gives the score [default: {FINAL_EPISODES}]",
        minimum=1,
        maximum=MOST_EPISODES,
    )
    evaluate: str | None = option(
        None,
        "evaluate the reported policy after the training, or during it on idle cores [default: after]",
        choices=EVALUATE,
    )
    info: tuple[str, ...] = option(
        (), "numbers of the environment's infos to record, as of each episode's last step", "KEY[,KEY...]"
    )
    processes: int | None = option(
        None,
        "worker processes; 0: the main process runs all tasks; a study may set its own number [default: as many as "
        "the cells at once can use, at most the cores]",
        minimum=0,
        maximum=MOST_PROCESSES,
        section="This machine",
    )
    jobs: int | None = option(
        None,
        "cells that run at the same time and share the processes [default: as many as cores and memory carry; 1 with "
        "--processes]",
        minimum=1,
        maximum=MOST_PROCESSES,
    )
    one_core: bool = option(False, "no process uses a second core, even if one is idle")
    device: str = option(
        "auto", "device for gradients: auto (a GPU if found), cpu, cuda or cuda:N [default: auto]", "DEVICE"
    )
    task_timeout: float | None = option(
        None, "seconds after which a worker counts as hung [default: 1800]", "SECONDS", minimum=1, maximum=1e9
    )
    worker_memory: int | None = option(
        None, "MiB of memory after which a worker is replaced [default: no limit]", "MIB", minimum=64, maximum=2**30
    )
    shard: Shard | None = option(
        None, "run only part I of N parts of the cells; other machines run the others", "I/N", section="Other machines"
    )
    launcher: str | None = option(None, "run each cell as a job of slurm, ray or ray://HOST:PORT", "ENGINE")
    slurm_partition: str | None = option(None, "Slurm's partition", "NAME")
    slurm_time: str | None = option(
        None, "time limit of a Slurm job, in minutes or as [DAYS-]HOURS:MINUTES; then a new job continues", "TIME"
    )
    slurm_cpus: int | None = option(
        None,
        "cores of a Slurm job, and its worker processes [default: as many as the study names, else 1]",
        minimum=1,
        maximum=MOST_PROCESSES,
    )
    slurm_mem: str | None = option(None, "memory of a Slurm job, such as 8G", "SIZE")
    slurm_set: Mapping[str, Any] = option({}, "a further option of sbatch: account, qos, constraint, ...", "KEY=VALUE")
    pool: str = option(
        "process", "where tasks run: process (this machine), ray or ray://HOST:PORT [default: process]", "KIND"
    )
    out: str | None = option(
        None, "folder of the results [default: results, or results/PROFILE]", "DIR", section="Results"
    )
    name: str | None = option(None, "name of the runs instead of ALGO or ALGO@PRESET", "NAME")
    checkpoint_every: float = option(
        60.0, "seconds between two checkpoints [default: 60]", "SECONDS", minimum=0, maximum=1e9
    )
    save_replay: bool = option(
        False, "keep the replay of a finished run, so that a run that learns from it can be extended"
    )
    keep_checkpoints: bool = option(
        False, "keep a checkpoint of each evaluation, from which `erlbench verify --again` can begin"
    )
    tensorboard: bool = option(False, "write live curves for TensorBoard into the folders of the runs")
    force: bool = option(False, "start again; existing runs are moved aside")
    force_kernel: bool = option(False, "continue runs that began on another BLAS kernel")
    force_identity: bool = option(False, "continue runs that began with other packages, source files or MuJoCo models")
    no_admission: bool = option(False, "do not try the environments before the runs, which are marked")
    allow_unrepeatable: bool = option(
        False, "run environments whose episodes are not decided by their seeds; the runs are marked"
    )
    dry_run: bool = option(False, "show settings, memory and time; run and write nothing")
    quiet: bool = option(False, "print errors only", short="-q", section="Output")
    verbose: bool = option(False, "print more messages, and tracebacks of errors", short="-v")

    def __post_init__(self) -> None:
        if self.seed is not None and self.seeds is not None:
            raise UsageError("--seed and --seeds exclude one another")
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device):
            raise UsageError(f"--device must be auto, cpu, cuda or cuda:N, not '{self.device}'")
        if not self.simulated_time and (self.costs or self.simulated_processes or self.simulated_critic):
            raise UsageError("--costs, --simulated-processes and --simulated-critic need --simulated-time")
        if not self.simulated_time and self.total_minutes is not None:
            raise UsageError("--total-minutes counts modelled minutes; give --simulated-time, too")
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
                    f"{flag(option)} needs worker processes that can be ended; give --processes 1 or more, not 0"
                )

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


def option_fields() -> dict[str, dataclasses.Field[Any]]:
    """The options by name, in the order of `--help`."""
    return {item.name: item for item in dataclasses.fields(RunArguments)}


def option_type(name: str) -> Any:
    """The type of an option's value, without None, which nobody can give."""
    kind = typing.get_type_hints(RunArguments)[name]
    if type(None) not in typing.get_args(kind):
        return kind
    return next(given for given in typing.get_args(kind) if given is not type(None))


def is_repeatable(name: str) -> bool:
    """Whether an option may be given several times: a list of names, or KEY=VALUE."""
    return name in TABLES or option_type(name) == tuple[str, ...]


def flag(name: str) -> str:
    """An option as the command line has it."""
    return "--" + name.replace("_", "-")
