"""The options of `erlbench run`: one declaration each for the command line, --config files and Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from erlbench.errors import UsageError
from erlbench.experiment.cells import CRITIC, EVALUATE, FINAL_EPISODES, OWN, SHARED, check_name
from erlbench.experiment.pool_kind import LOCAL, check_kind
from erlbench.experiment.shards import Shard, parse_shard
from erlbench.options import list_options, option
from erlbench.settings import MOST, MOST_AT_ONCE

MOST_SEEDS = 10_000
MOST_EPISODES = 1000  # of one evaluation, which is one task
MOST_PROCESSES = 1024


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
    preset: str | None = option(None, "preset of the algorithms given without one [default: paper]", "NAME")
    study: tuple[str, ...] = option(
        (), "studies of benchmarks.toml, instead of --algo and --env", "NAME[,NAME...]", basic=True
    )
    studies: tuple[str, ...] = option(
        (), "files with studies of your own; studies.toml in this folder is always read", "FILE"
    )
    profile: str | None = option(
        None, "budget of the studies: smoke, laptop or paper [default: smoke]", "NAME", basic=True
    )
    seed: int | None = option(None, "one seed [default: 0]", minimum=0, maximum=MOST)
    seeds: tuple[int, ...] | None = option(
        None, "several seeds: 10 (the first ten), or 0,3,5-9", "N|LIST", parse=seed_list, basic=True
    )
    total_timesteps: int | None = option(
        None,
        "training steps per cell; a larger number extends a finished run [default: 1e6]",
        minimum=1,
        maximum=MOST,
        basic=True,
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
    set: Mapping[str, Any] = option(
        {}, "a hyper-parameter, see `erlbench list algos -v`", "KEY=VALUE", table="settings", basic=True
    )
    env_set: Mapping[str, Any] = option(
        {}, "max_episode_steps, frame_skip or a keyword argument of the environments", "KEY=VALUE", table="env_settings"
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
    costs: str | None = option(None, "task durations for --simulated-time, a TOML file", "FILE")
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
        basic=True,
    )
    jobs: int | None = option(
        None,
        "cells that run at the same time and share the processes [default: as many as cores and memory carry; 1 with "
        "--processes]",
        minimum=1,
        maximum=MOST_PROCESSES,
        basic=True,
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
        None,
        "run only part I of N parts of the cells; other machines run the others",
        "I/N",
        parse=parse_shard,
        section="Other machines",
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
    slurm_set: Mapping[str, Any] = option(
        {}, "a further option of sbatch: account, qos, constraint, ...", "KEY=VALUE", table="slurm"
    )
    pool: str = option(
        "process", "where tasks run: process (this machine), ray or ray://HOST:PORT [default: process]", "KIND"
    )
    out: str | None = option(
        None, "folder of the results [default: results, or results/PROFILE]", "DIR", section="Results", basic=True
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
    tensorboard: bool = option(False, "write live curves for TensorBoard into the folders of the runs", basic=True)
    force: bool = option(False, "start again; existing runs are moved aside", basic=True)
    force_kernel: bool = option(False, "continue runs that began on another BLAS kernel")
    force_identity: bool = option(False, "continue runs that began with other packages, source files or MuJoCo models")
    no_admission: bool = option(False, "do not try the environments before the runs, which are marked")
    allow_unrepeatable: bool = option(
        False, "run environments whose episodes are not decided by their seeds; the runs are marked"
    )
    dry_run: bool = option(False, "show settings, memory and time; run and write nothing", basic=True)
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
        for name in ("task_timeout", "worker_memory"):
            if self.processes == 0 and getattr(self, name) is not None:
                raise UsageError(
                    f"{list_options(RunArguments)[name].flag} needs worker processes that can be ended; give "
                    "--processes 1 or more, not 0"
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


TABLES = {name: each.table for name, each in list_options(RunArguments).items() if each.is_table}
