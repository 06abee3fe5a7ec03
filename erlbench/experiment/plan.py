"""The written plan of a study: what is run, with which seeds, how a run is scored, what is compared and when.

A plan has a hash, that of all its values but texts and dates. Seeds follow from the hash, so nobody chooses them. Each
start of a run records the hash of the plan that lies in the folder of its results (`study_plan` in meta.json).
`plan_file.py` reads and checks the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from erlbench.experiment.cells import CRITIC, EVALUATE, FINAL_EPISODES, OWN, SHARED
from erlbench.settings import MOST, MOST_AT_ONCE, setting

FILE = "plan.toml"  # its name in the folder of the results
FORMAT = 2
TEXTS = ("title", "why", "written")  # what the hash leaves out
OPTIONAL = ("label", "name", "set", "settings", "env_settings", "pilot_seeds", *TEXTS)  # not written when empty
TIMESTEPS, MINUTES = "timesteps", "minutes"
HOLM, NONE = "holm", "none"
SMALLEST_SEED, SEEDS_BELOW = 1000, 10**9


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """One cell of the study: all of its runs but for their seeds."""

    algo: str  # NAME or NAME@PRESET
    env: str  # ID or ID@PRESET
    label: str = ""  # how contrasts call it; "NAME on ENV" where the file does not say
    name: str = ""  # of the runs' folder; as `erlbench run` names it where the file does not say
    workers: int | None = setting(None, "individuals in flight", minimum=0, maximum=MOST_AT_ONCE)
    total_timesteps: int | None = setting(None, "training steps", minimum=1, maximum=MOST)
    total_minutes: float | None = setting(None, "minutes of training", minimum=0, maximum=1e9)
    set: Mapping[str, Any] = field(default_factory=dict)  # hyper-parameters that differ from the preset
    settings: Mapping[str, Any] = field(default_factory=dict)  # all hyper-parameters, in place of `set`
    env_settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """How the reported policy is evaluated."""

    eval_freq: int = setting(5000, "training steps between two evaluations", minimum=1, maximum=MOST)
    eval_episodes: int = setting(10, "episodes per evaluation", minimum=1, maximum=1000)
    final_episodes: int = setting(FINAL_EPISODES, "episodes of the final evaluation", minimum=1, maximum=1000)
    evaluate: str = setting("after", "when", choices=EVALUATE)


@dataclass(frozen=True)
class Simulated:
    """Simulated time; its costs are a table of the plan."""

    processes: int = setting(0, "virtual processors; 0: the workers, or 1", minimum=0, maximum=1024)
    critic: str = setting(CRITIC, "processor of the critic", choices=(OWN, SHARED))


@dataclass(frozen=True)
class Contrast:
    """A difference that is tested: the mean score of `a` minus that of `b`.

    A run's score is the mean of its evaluation curve over a stretch of the axis, linear between evaluations, without
    the final evaluation.
    """

    a: str  # labels of cells
    b: str
    stretch: tuple[float, float]  # from, to: training steps or minutes
    axis: str = setting(TIMESTEPS, "of the stretch", choices=(TIMESTEPS, MINUTES))
    name: str = ""

    @property
    def title(self) -> str:
        """Its name, or what it compares."""
        return self.name or f"{self.a} - {self.b}"


@dataclass(frozen=True)
class Test:
    """When the contrasts are tested and by which p-values."""

    looks: tuple[int, ...]  # seeds that are complete in all cells; the last one has all seeds
    level: float = setting(0.05, "of all contrasts and looks together", minimum=1e-6, maximum=0.5)
    correction: str = setting(HOLM, "for many contrasts", choices=(HOLM, NONE))
    spending: str = setting("obrien-fleming", "of the level over the looks", choices=("obrien-fleming", "pocock"))
    metric: str = setting("curve-mean", "score of a run", choices=("curve-mean",))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A study as it was planned."""

    seeds: int
    cells: tuple[PlannedCell, ...]
    contrasts: tuple[Contrast, ...]
    test: Test
    evaluation: Evaluation = field(default_factory=Evaluation)
    pilot_seeds: tuple[int, ...] = ()  # of runs that were seen before; none of them is assigned
    simulated_time: Simulated | None = None
    costs: Mapping[str, Any] | None = None  # with simulated time; None: not resolved yet
    title: str = ""
    why: str = ""
    written: str = ""

    @property
    def resolved(self) -> bool:
        """Whether every value is there, so that no default of a later version can change the plan."""
        whole = all(cell.settings and cell.name and cell.workers is not None for cell in self.cells)
        return whole and (self.simulated_time is None or self.costs is not None)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all values but texts and dates, as JSON with sorted keys."""
        values = {name: value for name, value in self.tables().items() if name not in TEXTS}
        text = json.dumps(values, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def tables(self) -> dict[str, Any]:
        """What the file holds, in its order; plain values only, without those that are empty."""
        first = {"format": FORMAT, **{name: getattr(self, name) for name in TEXTS}, "seeds": self.seeds}
        values: dict[str, Any] = _plain({**first, **asdict(self)})
        return values

    def assigned_seeds(self) -> tuple[int, ...]:
        """The seeds of the study in their order: distinct, from 1000 on, none of a pilot's."""
        found: dict[int, None] = {}
        for seed in _stream(self.hash):
            if seed >= SMALLEST_SEED and seed not in self.pilot_seeds:
                found.setdefault(seed)
            if len(found) == self.seeds:
                break
        return tuple(found)

    def cell(self, label: str) -> PlannedCell:
        """The cell that is called so."""
        return next(cell for cell in self.cells if cell.label == label)

    def config(self, cell: PlannedCell) -> dict[str, dict[str, Any]]:
        """What config.toml of the cell's runs holds, by table, but for seeds and for what the plan leaves open."""
        algo, _, preset = cell.algo.partition("@")
        run: dict[str, Any] = {
            "env": cell.env, "algo": algo, "preset": preset, "name": cell.name, "workers": cell.workers,
            "total_timesteps": cell.total_timesteps, "total_minutes": cell.total_minutes, **asdict(self.evaluation),
            "simulated_time": self.simulated_time is not None,
        }  # fmt: skip
        tables = {"run": run, "settings": dict(cell.settings), "env_settings": dict(cell.env_settings)}
        if self.simulated_time is not None:
            processors = self.simulated_time.processes or cell.workers or 1
            run |= {"simulated_processes": processors, "simulated_critic": self.simulated_time.critic}
            tables["costs"] = dict(self.costs or {})
        return tables


def labelled(cell: PlannedCell) -> PlannedCell:
    """The cell with its label."""
    return replace(cell, label=cell.label or f"{cell.name or cell.algo} on {cell.env}")


def _stream(digest: str) -> Iterator[int]:
    """Numbers below 10^9 without end: SHA-256 of the digest and the index."""
    index = 0
    while True:
        yield int(hashlib.sha256(f"{digest}{index}".encode()).hexdigest(), 16) % SEEDS_BELOW
        index += 1


def _plain(value: Any) -> Any:
    """Tuples as lists, and tables without what nobody set."""
    if isinstance(value, Mapping):
        return {
            name: _plain(item) for name, item in value.items() if item is not None and (item or name not in OPTIONAL)
        }
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
