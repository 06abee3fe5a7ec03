"""A study: what is run, what is compared, and what is asked; `studies.py` reads and checks the files.

`Study.table` is the study as its file has it, and `Study.sha256` the hash of what decides a run or a comparison.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, is_dataclass
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import tomli_w

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.experiment.arguments import RunArguments
from erlbench.experiment.cells import CRITIC, EVAL_FREQ, FINAL_EPISODES, usual_frequency
from erlbench.files import Table, Values
from erlbench.options import shared_option
from erlbench.records.axes import AXES
from erlbench.records.older import DEFAULT_PRESET
from erlbench.settings import list_settings, setting

TIME = "time"  # of studies that compare times: their cells use no second core
KINDS = ("scores", TIME, "curves", "timeline")
NO_PROFILE = ""  # the key in `Study.profiles` of the budget of a study without profiles
CURVE, MINUTES, REACH, STEPS = "curve", "minutes", "reach", "steps"
PLACES = ("name", "file", "parts")  # of a study, not in its table
# What the hash leaves out: it changes neither what is run nor what is compared.
TEXTS = ("title", "source", "published_source", "table", "item", "statistic", "not_run", "note", "x", "envs_published")
ENTRY_TEXTS = ("label", "published")


_as_run = partial(shared_option, RunArguments)  # a value with the checks of the option of `erlbench run`


@dataclass(frozen=True)
class Entry:
    """One row or column of a study: an algorithm in one configuration."""

    name: str
    algo: str
    preset: str = DEFAULT_PRESET
    workers: int | None = _as_run("workers")
    processes: int | None = _as_run("processes")  # where the study is about them
    settings: Values = field(default_factory=dict)
    published: str = ""  # the published table's name for it
    label: str = ""  # the report's name for it
    nominal: int | None = setting(None, "most episodes of a generation, where the budget counts one", minimum=1)
    envs: tuple[str, ...] = ()  # of the study's, those that it runs on; empty: all
    env_settings: Values = field(default_factory=dict)  # these win over the profile's
    total_timesteps: int | None = _as_run("total_timesteps")


@dataclass(frozen=True)
class Simulated:
    """Simulated time of a study's cells."""

    processes: int = _as_run("simulated_processes", 0, minimum=0)
    critic: str = _as_run("simulated_critic", CRITIC)


@dataclass(frozen=True)
class Profile:
    """One budget of a study."""

    seeds: tuple[int, ...] = _as_run("seeds", MISSING)
    total_timesteps: int = _as_run("total_timesteps", MISSING)  # 0: other ends alone
    envs: tuple[str, ...] = setting(MISSING, "environments, as ID or ID@PRESET")
    _: KW_ONLY
    total_generations: int | None = _as_run("total_generations")
    total_minutes: float | None = _as_run("total_minutes")
    env_timesteps: Mapping[str, int] = field(default_factory=dict)  # where an environment has another budget
    entry_timesteps: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # of an entry, by environment
    eval_freq: int = _as_run("eval_freq", EVAL_FREQ)
    eval_episodes: int = _as_run("eval_episodes", 10)
    final_episodes: int = _as_run("final_episodes", FINAL_EPISODES)
    settings: Values = field(default_factory=dict)  # for every algorithm that has them
    env_settings: Values = field(default_factory=dict)  # for all of its environments
    evaluate: str = _as_run("evaluate", "after")
    info: tuple[str, ...] = ()  # numbers of the environments' infos that are recorded
    simulated_time: Simulated | None = None
    costs: Values = field(default_factory=dict)  # with simulated time: all of `Costs`

    def entry_envs(self, entry: Entry) -> tuple[str, ...]:
        """The environments that an entry runs on."""
        return tuple(env for env in self.envs if not entry.envs or env in entry.envs)

    def entry_env_settings(self, entry: Entry) -> Table:
        """The settings of the environments of an entry's cells."""
        return {**self.env_settings, **entry.env_settings}

    def own_timesteps(self, env: str, entry: Entry) -> int:
        """The budget that an entry alone has on an environment, in training steps; 0 where it has none."""
        return self.entry_timesteps.get(entry.name, {}).get(env) or entry.total_timesteps or 0

    def timesteps(self, env: str, entry: Entry | None = None) -> int:
        """The budget on an environment, in training steps: the entry's, else the profile's."""
        budget = self.own_timesteps(env, entry) if entry else 0
        return budget or self.env_timesteps.get(env, self.total_timesteps)

    def most_timesteps(self, env: str, entry: Entry) -> int:
        """The training steps that end an entry's run on an environment.

        A nominal entry's run ends by its generations, and these are the most steps that they can have.
        """
        return self.timesteps(env, entry) * (entry.nominal or 1)

    def generations(self, entry: Entry, timesteps: int, longest: int) -> int | None:
        """The generations that end an entry's run with a budget of `timesteps`; None for no such limit.

        Generations of a nominal entry count one episode of `longest` steps each, whatever they play.
        """
        return -(-timesteps // longest) if entry.nominal else self.total_generations


def read_amount(value: Any, what: str) -> str:
    """A claimed difference as a text: "75 %" of the second's mean, or a number."""
    text = f"{Decimal(f'{value:.15g}'):f}" if type(value) is float else str(value)  # without an exponent
    if not re.fullmatch(r"[0-9]{1,99}(\.[0-9]+)?( ?%)?", text):
        raise UsageError(f"{what} must be a number or a percentage such as \"75 %\", not '{text}'")
    return text


@dataclass(frozen=True)
class Pair:
    """Two entries that are compared on each environment: the means of `first` and `second`."""

    first: str
    second: str
    envs: tuple[str, ...] = ()  # empty: all that both run on
    metric: str = setting(
        "", "what is compared; empty: as the report decides", choices=("final", CURVE, MINUTES, REACH)
    )
    begin: float | None = field(
        default=None, metadata={"key": "from", "minimum": 0}
    )  # of the curve's stretch, on `axis`
    end: float | None = field(default=None, metadata={"key": "to", "minimum": 0})
    axis: str = setting(STEPS, "of the stretch", choices=(STEPS, "simulator-steps", MINUTES))
    score: float | None = None  # that is reached
    more_by: str = field(default="", metadata={"key": "more-by", "parse": read_amount})
    less_by: str = field(default="", metadata={"key": "less-by", "parse": read_amount})


@dataclass(frozen=True, kw_only=True)
class Study:
    """A question, a table or a figure: its cells, and what is compared."""

    name: str
    title: str
    claim: str = ""  # the sentence that it tests
    source: str = ""  # of the sentence
    kind: str = setting("scores", "what the report draws", choices=KINDS)
    published_source: str = ""  # column `source` of the published numbers
    table: str = ""  # column `table` of the published numbers
    item: str = ""  # the table or figure that it repeats, where it is another one
    statistic: str = "mean"  # column `statistic` of the published numbers
    entries: tuple[Entry, ...] = ()
    compare: tuple[Pair, ...] = ()  # empty: all pairs
    baseline: str = ""  # the entry against which the others are compared
    not_run: tuple[str, ...] = ()  # published algorithms that the suite does not run
    note: str = ""  # how its cells differ from what was published, for captions
    x: str = setting("timesteps", "what its curves are drawn over, as printed", choices=tuple(AXES))
    profiles: Mapping[str, Profile] = field(default_factory=dict)  # by name; only `NO_PROFILE` where it has none
    envs_published: Mapping[str, str] = field(default_factory=dict)  # environment id -> the published table's
    file: Path | None = field(default=None, compare=False)  # that has it; None for benchmarks.toml
    parts: tuple[Study, ...] = field(default=(), compare=False)  # the studies of several folders, of other seeds each

    @property
    def has_profiles(self) -> bool:
        """Whether --profile chooses its budget."""
        return NO_PROFILE not in self.profiles

    @property
    def times_cells(self) -> bool:
        """Whether minutes of its cells are compared."""
        return self.kind == TIME or any(MINUTES in (pair.metric, pair.axis) for pair in self.compare)

    @cached_property
    def as_table(self) -> Table:
        """The study as its table in a file: plain values, without those that are defaults."""
        table = _changed_values(self, *PLACES)
        budgets = table.pop("profiles")
        for entry in table["entries"]:
            if entry.get("label") == entry["name"]:
                del entry["label"]
        alone = self.profiles.get(NO_PROFILE)
        if alone and alone.total_timesteps and EVAL_FREQ == alone.eval_freq != usual_frequency(alone.total_timesteps):
            budgets[NO_PROFILE]["eval_freq"] = EVAL_FREQ  # a reader would take the usual one
        return {**table, **({"profiles": budgets} if self.has_profiles else budgets[NO_PROFILE])}

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of all values that decide what is run or compared, and of the claim: JSON with sorted keys."""
        table = {key: value for key, value in self.as_table.items() if key not in TEXTS}
        table["entries"] = [
            {key: value for key, value in entry.items() if key not in ENTRY_TEXTS} for entry in table["entries"]
        ]
        return hashlib.sha256(
            json.dumps(_whole(table), sort_keys=True, separators=(",", ":"), default=str).encode()
        ).hexdigest()


def study_text(name: str, table: Values) -> str:
    """A study's table as TOML."""
    return tomli_w.dumps({"studies": {name: table}})


def profile_settings(profile: Profile, entry: Entry) -> Table:
    """The profile's settings that the entry's algorithm has, and the entry's settings, which win."""
    names = list_settings(registry.find(entry.algo).settings_type)
    return {**{name: value for name, value in profile.settings.items() if name in names}, **entry.settings}


def _changed_values(record: Any, *left_out: str) -> Table:
    """The fields of a dataclass instance that are not their defaults, by their keys in a file."""
    values = {}
    for item in fields(record):
        value = getattr(record, item.name)
        default = item.default if item.default_factory is MISSING else item.default_factory()
        if item.name not in left_out and value != default:
            values[item.metadata.get("key", item.name)] = _plain(value)
    return values


def _plain(value: Any) -> Any:
    """A value as TOML and JSON hold it."""
    if is_dataclass(value):
        return _changed_values(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _whole(value: Any) -> Any:
    """A plain value for the hash alone: 1e6 is 1000000, so that both have one. Environments may tell them apart."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
