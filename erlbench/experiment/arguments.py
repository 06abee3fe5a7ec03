"""The options of `erlbench run`: one declaration each for the command line, --config files and Python calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from erlbench.errors import UsageError, check_known, nearest
from erlbench.experiment.cells import CRITIC, EVALUATE, FINAL_EPISODES, LOCAL, OWN, SHARED, check_name
from erlbench.experiment.toml_file import TomlFile
from erlbench.files import Table, Values
from erlbench.options import list_options, make_options, option, toml_assignments
from erlbench.records.older import update_names
from erlbench.settings import MOST, MOST_AT_ONCE, check_value

MOST_SEEDS = 10_000
MOST_PROCESSES = 1024


def seed_list(value: Any, what: str) -> tuple[int, ...]:
    """Seeds from a number of seeds (10), a list, or a text such as "0,3,5-9" or "7,"."""
    text = value
    if isinstance(value, str):
        # A comma at the end tells a seed from a number of seeds.
        value = int(value) if re.fullmatch(r"\s*-?\d+\s*", value) else re.sub(r",\s*$", "", value).split(",")
    if type(value) is int:
        if not 1 <= value <= MOST_SEEDS:
            hint = f"; for one seed use --seeds {value}," if value >= 0 and what.startswith("--") else ""
            raise UsageError(f"{what} must be 1 to {MOST_SEEDS} seeds, not {value}{hint}")
        return tuple(range(value))
    seeds: list[int] = []
    for item in value if isinstance(value, list | tuple | range) else ("",):
        match = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", str(item))
        if match is None:
            raise UsageError(f"{what} must be a number of seeds (10) or a list (0,3,5-9), not '{text}'")
        first, last = int(match[1]), int(match[2] or match[1])
        if last > MOST:
            raise UsageError(f"{what}: a seed must be at most {MOST:g}, not {match[0].strip()}")
        if last < first or last - first >= MOST_SEEDS:
            raise UsageError(f"{what}: '{item}' must be a range of 1 to {MOST_SEEDS} seeds, the smaller one first")
        seeds.extend(range(first, last + 1))
    if not seeds:
        raise UsageError(f"{what} names no seed")
    if len(set(seeds)) < len(seeds) or len(seeds) > MOST_SEEDS:
        raise UsageError(f"{what}: '{text}' must name each seed once, and at most {MOST_SEEDS}")
    return tuple(seeds)


def read_simulated_time(value: Any, what: str) -> bool | int:
    """Whether time is simulated, or the number of virtual processors, which implies it."""
    if (text := str(value).lower()) in ("true", "false"):
        return text == "true"
    return int(check_value(value, int, what, {"minimum": 1, "maximum": MOST_PROCESSES}))


_number = partial(option, None, minimum=1)
_steps = partial(_number, maximum=MOST)
_episodes = partial(_number, maximum=1000)  # of one evaluation, which is one task
_processes = partial(_number, maximum=MOST_PROCESSES)


@dataclass(frozen=True, kw_only=True)
class RunArguments:
    """What the user asked for; None where it is left to the study, the algorithm or the machine."""

    algo: tuple[str, ...] = option(
        (),
        "algorithms, as NAME or NAME@PRESET; with --study, only these entries",
        "NAME[,NAME...]",
        section="What to run",
        basic=True,
    )
    env: tuple[str, ...] = option(
        (), "environments, as ID or ID@PRESET; with --study, only these of its environments", "ID[,ID...]", basic=True
    )
    preset: str | None = option(
        None, "preset of the algorithms given without one [default: default]", "NAME", file_only=True
    )
    study: tuple[str, ...] = option(
        (), "studies of studies.toml or the suite, instead of --algo and --env", "NAME[,NAME...]", basic=True
    )
    profile: str | None = option(
        None, "budget of the studies: smoke, laptop or paper [default: smoke]", "NAME", basic=True
    )
    seeds: tuple[int, ...] | None = option(
        None, "10 (the first ten), a list 0,3,5-9, or 7, for one [default: 0,]", "N|LIST", parse=seed_list, basic=True
    )
    total_timesteps: int | None = _steps(
        "training steps per cell; a larger number extends a finished run [default: 1e6]", basic=True
    )
    total_generations: int | None = _steps(
        "end after N generations, if the steps are not used up before", file_only=True
    )
    total_minutes: float | None = _steps(
        "with --simulated-time: modelled minutes of training after which a run ends, with --total-timesteps when both "
        "have passed",
        "MINUTES",
        minimum=0.001,
        file_only=True,
    )
    workers: int | None = _number(
        "individuals that run at the same time [default: the algorithm's]", maximum=MOST_AT_ONCE
    )
    set: Values = option(
        {}, "a hyper-parameter, see `erlbench list algos -v`", "KEY=VALUE", table="settings", basic=True
    )
    env_set: Values = option(
        {},
        "max_episode_steps, frame_skip or a keyword argument of the environments",
        "KEY=VALUE",
        table="env_settings",
        parse=toml_assignments,
    )
    config: Path | None = option(
        None, "TOML file with any of these options and tables [settings], [env_settings]", "FILE"
    )
    simulated_time: bool | int = option(
        False,
        "modelled times in place of the clock, so that asynchronous runs repeat exactly, on N virtual processors "
        "[default: the workers, or 1]",
        "[N]",
        bare="true",
        parse=read_simulated_time,
    )
    simulated_processes: int | None = _processes(
        "virtual processors of simulated time [default: the workers, or 1]", file_only=True
    )
    simulated_critic: str | None = option(
        None,
        f"with --simulated-time: own processor for the critic, or one of the others [default: {CRITIC}]",
        choices=(OWN, SHARED),
        file_only=True,
    )
    costs: Path | None = option(None, "task durations for --simulated-time, a TOML file", "FILE", file_only=True)
    eval_freq: int | None = _steps(
        "training steps between two evaluations, which wait for a generation's end [default: 5000, or a tenth of the "
        "budget where that is less]",
        section="Evaluation",
    )
    eval_episodes: int | None = _episodes("episodes per evaluation [default: 10]")
    final_episodes: int | None = _episodes(
        f"episodes of the final evaluation, which gives the score [default: {FINAL_EPISODES}]", file_only=True
    )
    evaluate: str | None = option(
        None,
        "evaluate the reported policy after the training, or during it on idle cores [default: after]",
        choices=EVALUATE,
        file_only=True,
    )
    info: tuple[str, ...] = option(
        (),
        "numbers of the environment's infos to record, as of each episode's last step",
        "KEY[,KEY...]",
        file_only=True,
    )
    processes: int | None = _processes(
        "worker processes; 0: the main process runs all tasks; a study may set its own number [default: as many as "
        "the cells at once can use, at most the cores]",
        minimum=0,
        section="This machine",
        basic=True,
    )
    jobs: int | None = _processes(
        "cells that run at the same time and share the processes [default: as many as cores and memory carry; 1 with "
        "--processes]",
        basic=True,
    )
    one_core: bool = option(False, "no process uses a second core, even if one is idle")
    device: str = option(
        "auto", "device for gradients: auto (a GPU if found), cpu, cuda or cuda:N [default: auto]", "DEVICE"
    )
    task_timeout: float | None = _number(
        "seconds after which a worker counts as hung [default: 1800]", "SECONDS", maximum=1e9, file_only=True
    )
    slurm: Values = option(
        {},
        "run each cell as a job of Slurm, with this option of sbatch: partition, time, cpus, mem, account, ...",
        "KEY=VALUE",
        table="slurm",
        section="Other machines",
    )
    pool: str = option(
        "process", "where tasks run: process (this machine), ray or ray://HOST:PORT [default: process]", "KIND"
    )
    out: Path | None = option(
        None,
        "folder of the results [default: results; with --study, results/PROFILE or results/STUDY]",
        "DIR",
        section="Results",
        basic=True,
    )
    name: str | None = option(None, "name of the runs instead of ALGO or ALGO@PRESET", "NAME")
    checkpoint_every: float = option(
        60.0, "seconds between two checkpoints [default: 60]", "SECONDS", minimum=0, maximum=1e9, file_only=True
    )
    save_replay: bool = option(
        False, "keep the replay of a finished run, so that a run that learns from it can be extended"
    )
    tensorboard: bool = option(False, "write live curves for TensorBoard into the folders of the runs")
    force: bool = option(False, "start again; existing runs are moved aside")
    anyway: bool = option(
        False,
        "run what is refused: on another kernel, of other software, in an environment that cannot be repeated or "
        "tried; such runs are marked",
    )
    dry_run: bool = option(False, "show settings, memory and time; run and write nothing", basic=True)
    quiet: bool = option(False, "print errors only", short="-q", section="Output")
    verbose: bool = option(False, "print more messages, and tracebacks of errors", short="-v")

    def __post_init__(self) -> None:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device):
            raise UsageError(f"--device must be auto, cpu, cuda or cuda:N, not '{self.device}'")
        for name in ("costs", "simulated_processes", "simulated_critic", "total_minutes"):
            if not self.simulated_time and getattr(self, name) is not None:
                raise UsageError(f"'{name}' is of modelled time; give --simulated-time, too")
        if self.pool != LOCAL and not re.fullmatch(r"ray(://[^\s/]+:\d+)?", self.pool):
            hint = nearest(self.pool.partition("://")[0], (LOCAL, "ray"))
            raise UsageError(f"--pool must be process, ray or ray://HOST:PORT, not '{self.pool}'{hint}")
        if self.slurm and self.processes is not None:
            raise UsageError("--processes is for this machine; a job of Slurm has --slurm cpus=N worker processes")
        if self.slurm and self.pool != LOCAL:
            raise UsageError("--slurm and --pool exclude one another")
        if self.pool != LOCAL and (self.jobs or 1) > 1:
            raise UsageError("--jobs above 1 needs --pool process: on a cluster each cell uses all nodes")
        if self.name is not None:
            check_name(self.name, "--name")
        if self.processes == 0 and self.task_timeout is not None:
            raise UsageError(
                "'task_timeout' needs worker processes that can be ended; give --processes 1 or more, not 0"
            )


OPTIONS = list_options(RunArguments)
TABLES = {name: option.table for name, option in OPTIONS.items() if option.is_table}


def arguments(given: Values) -> RunArguments:
    """The arguments from what the command line gave (the rest None or empty) over what its --config file gives."""
    path = given.get("config")
    values = _read_file(OPTIONS["config"].check(path, "--config")) if path else {}
    return make_options(RunArguments, given, values)


def _read_file(path: Path) -> Table:
    """A --config file: options at the top or in [run], and the `TABLES`; a run's config.toml is one."""
    file, values = TomlFile(path), {}
    tables = update_names(file.data)
    option_names = [name for name in OPTIONS if name not in (*TABLES, "config")]
    top = {key: value for key, value in file.data.items() if key not in ("run", *TABLES.values())}
    if isinstance(top.get("costs"), dict):
        top["costs"] = str(path)  # the table of a run's config.toml
    for where, table in (((), top), (("run",), file.table(tables.get("run", {}), ("run",)))):
        for key, value in table.items():
            name = key.replace("-", "_")
            if name == "seed":
                name, value = "seeds", [value]  # of a run's config.toml
            if name == "workers" and value == 0:
                continue  # of config.toml, for algorithms without workers
            with file.at((*where, key)):
                check_known(name, option_names, f"unknown option '{key}'")
                if name in values:
                    raise UsageError(f"'{name}' is given twice")
                values[name] = OPTIONS[name].check(value, f"'{key}'")
    return values | {option: file.table(tables.get(name, {}), (name,)) for option, name in TABLES.items()}
