"""A cell: one algorithm on one environment with one seed, its resolved settings and its run directory."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.experiment.costs import DEFAULTS, Costs, built_in_costs, rounded
from erlbench.files import Table, Values, table_in
from erlbench.records.older import DEFAULT_PRESET
from erlbench.settings import as_toml, toml_values

if TYPE_CHECKING:
    from erlbench.algorithms.base import Algorithm
    from erlbench.envs.registry import Problem
    from erlbench.work.replay import Replay
    from erlbench.work.store import Store

HUNG_AFTER = 1800.0  # seconds of one task, by default
EVALUATE = ("during", "after")
EVAL_FREQ = 5000  # training steps between two evaluations
FEWEST_EVALUATIONS = 10  # on the way, of a budget below `EVAL_FREQ` times as much
FINAL_EPISODES = 50
LOCAL = "process"  # the pool of processes of this machine
OWN, SHARED = "own", "shared"  # the critic's processor in simulated time: a separate one, or one of the others
CRITIC = OWN  # by default
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,199}")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Everything that decides a run's results, and where they go."""

    env: str  # ID, or ID@PRESET for any preset of the environment but the default one
    algo: str
    preset: str
    name: str  # the folder and the report's key: algorithm, algorithm@preset, or the user's own
    seed: int
    total_timesteps: int  # training steps; 0 where the modelled minutes alone end the run
    workers: int  # individuals in flight; 0 for algorithms that have no such number
    eval_freq: int = EVAL_FREQ  # training steps between two evaluations of the reported policy
    eval_episodes: int = 10  # of an evaluation on the way
    final_episodes: int = FINAL_EPISODES  # of the final evaluation, which gives the score
    evaluate: str = "after"  # the training, from saved parameters, or "during" it
    simulated_time: bool = False  # order of results by modelled durations instead of the clock
    total_generations: int | None = None  # where the run ends if its steps are not used up before
    total_minutes: float | None = None  # of modelled training time, which have to pass in addition to the steps
    info: tuple[str, ...] = ()  # keys of the environment's infos whose numbers are recorded
    settings: Any  # instance of the algorithm's settings_type
    out: Path
    processes: int | None = None  # where a study pins them; else RunOptions.processes
    one_core: bool = False  # as RunOptions.one_core, where a study compares times
    env_settings: Values = field(default_factory=dict)  # plain values, see envs/options.py
    simulated_processes: int = 0  # virtual processors; 0: as many as workers, or one
    simulated_critic: str = CRITIC  # `OWN` or `SHARED`
    costs: Costs = field(default_factory=built_in_costs)  # modelled durations
    stated: frozenset[str] | None = field(default=None, compare=False, repr=False)  # "table.key"; None: everything
    saved: Values = field(default_factory=dict, compare=False, repr=False)  # config.toml of its folder
    kept: tuple[str, ...] = field(default=(), compare=False, repr=False)  # what it has by its folder alone, in words

    @property
    def directory(self) -> Path:
        """The run directory, `out/<env>/<name>/seed-NNN`."""
        return run_folder(self.out, self.env, self.name, self.seed)

    @property
    def processors(self) -> int:
        """The virtual processors of simulated time, without the critic's."""
        return self.simulated_processes or self.workers or 1

    @property
    def label(self) -> str:
        """How messages name the cell."""
        return f"{self.name} on {self.env}, seed {self.seed}"

    def config(self) -> Table:
        """What config.toml holds: the tables `run`, `settings` and `env_settings`, plain values only."""
        values = ((name, getattr(self, name)) for name in IN_RUN if name != "total_timesteps" or self.total_timesteps)
        run = as_toml({name: value for name, value in values if value not in (None, ())})
        settings = {**table_in(self.saved, "settings"), **toml_values(self.settings)}  # also those that are no more
        tables = {"run": run, "settings": settings, "env_settings": dict(self.env_settings)}
        if self.simulated_time:
            run |= {"simulated_processes": self.processors, "simulated_critic": self.simulated_critic}
            tables["costs"] = asdict(self.costs)
        return tables

    def algorithm(self, problem: Problem, store: Store, replay: Replay) -> Algorithm[Any, Any]:
        """Its algorithm, at the beginning of a run on `problem`."""
        from erlbench.algorithms.base import Context

        context = Context(
            problem=problem,
            seed=self.seed,
            total_timesteps=self.total_timesteps,
            workers=self.workers,
            store=store,
            replay=replay,
            total_generations=self.total_generations,
            total_minutes=self.total_minutes,
        )
        return registry.find(self.algo)(self.settings, context)

    def departures(self, saved: Values) -> list[str]:
        """What differs from the configuration of its folder, of all that is stated or saved; as `differences`."""

        def counts(table: str, key: str) -> bool:
            return self.stated is None or f"{table}.{key}" in self.stated or key in table_in(saved, table)

        return differences(saved, self.config(), counts)


# What [run] of config.toml holds, in this order, without None, empty lists and a budget of 0 steps.
IN_RUN = tuple(Cell.__dataclass_fields__)[: [*Cell.__dataclass_fields__].index("settings")]


@dataclass(frozen=True)
class RunOptions:
    """How cells are run on this machine; nothing here changes a synchronous algorithm's results."""

    processes: int  # worker processes, of all jobs together; 0: tasks run in the driver's process
    _: KW_ONLY
    pool: str = "process"  # or ray, ray://HOST:PORT
    per_node: int | None = None  # processes on each node of a cluster, at most; None: its free cores
    jobs: int | None = 1  # cells at once; None: as many as cores and memory carry
    one_core: bool = False  # no process uses a second core, not even one that is idle
    device: str = "auto"  # of gradient tasks: auto, cpu, cuda, cuda:1, ...
    checkpoint_every: float = 60.0  # seconds
    task_timeout: float = HUNG_AFTER  # seconds after which a worker counts as hung
    studies: Mapping[str, str] = field(default_factory=dict)  # those that the command named, with their SHA-256
    study_texts: Mapping[Path, Mapping[str, str]] = field(default_factory=dict)  # theirs, by files in result folders
    save_replay: bool = False  # keep the replay of a finished run, so that it can be extended
    tensorboard: bool = False  # write live curves into the folders of the runs
    until: int | None = None  # the evaluation after which a run stops, as if interrupted
    force: bool = False  # move a directory with other settings aside and start anew
    admission: bool = True  # try each environment before a run
    anyway: bool = False  # run what would be refused: on another kernel, of other software, not repeatable
    verbosity: int = 0  # -1 quiet, 0 progress, 1 verbose
    command_line: tuple[str, ...] = ()


def usual_frequency(steps: float) -> int:
    """Training steps between two evaluations by default: `EVAL_FREQ`, or a tenth of a smaller budget."""
    return max(1, min(EVAL_FREQ, math.ceil(steps / FEWEST_EVALUATIONS)))


def check_name(name: str, what: str) -> None:
    """Raise a `UsageError` that begins with `what` when `name` cannot be a folder's name."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{what} '{name}' must be 1 to 200 of a-z, A-Z, 0-9 and . _ @ + -, a letter or digit first")


def entry_name(algo: str, preset: str) -> str:
    """The name of an entry or of runs that have none: ALGO, or ALGO@PRESET for any preset but the default one."""
    return registry.short_name(algo) + f"@{preset}" * (preset != DEFAULT_PRESET)


def folder_name(env_id: str) -> str:
    """An environment id as one folder: "dm_control/walker-v0" is "dm_control_walker-v0"."""
    return re.sub(r"[^\w.@+-]", "_", env_id)


def run_folder(out: Path, env: str, name: str, seed: int) -> Path:
    """The folder of a run below a folder of results."""
    return out / folder_name(env) / name / f"seed-{seed:03d}"


def differences(saved: Values, now: Values, counts: Callable[[str, str], bool] = lambda table, key: True) -> list[str]:
    """What differs between two configurations (`Cell.config`), one line each: "settings.tau: 0.9 there, 0.95 now".

    `counts` selects keys of tables.
    """
    lines = []
    for table in ("run", "settings", "env_settings", "costs"):
        old, new = table_in(saved, table), now.get(table, {})
        if old and table == "costs":
            old = rounded({**DEFAULTS, **old})  # a run of before some of these were measured
        for key in {**new, **old}:
            if old.get(key) != new.get(key) and counts(table, key):
                lines.append(f"{table}.{key}: {old.get(key, 'not set')} there, {new.get(key, 'not set')} now")
    return lines
