"""Trying an environment before a run trusts it: whether its seed decides an episode, and a step is what it must be.

`inspect` runs in a separate process (`inspection.py`), so an environment can do no harm.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.envs.catalogue import FRESH
from erlbench.envs.registry import Described, Problem, build, describe_problem
from erlbench.errors import ErlbenchError, UsageError, describe_error
from erlbench.work import identity
from erlbench.work.contract import Infos, advance, reset
from erlbench.work.rollout import is_finite
from erlbench.work.seeding import generator

if TYPE_CHECKING:
    from erlbench.envs.wrappers import Env

Say = Callable[[str], None]
Tell = Callable[[str, Any], None]
SEEDS = (7, 1_000_003, 2**31 - 1)
STEPS, SECONDS = 200, 0.15  # of an episode that is tried, at most; two steps at least
RESETS, PATIENCE = 24, 0.5  # of an object before its first episode is played again, and seconds for them, at most


@dataclass(frozen=True, kw_only=True)
class Admission:
    """What the trial of a problem gave."""

    described: Described | None = None  # None where it is refused
    refusal: str = ""  # in one line
    details: str = ""  # the traceback, where an exception was the reason
    unrepeatable: str = ""  # what differed between episodes with one seed
    tried: bool = False
    files: dict[str, str] = field(default_factory=dict)  # of the modules that the environment loads
    imported: tuple[str, ...] = ()  # the algorithm's modules, which were imported after the trial
    all_files: dict[str, str] = field(default_factory=dict)  # with those that they load
    model: str = ""  # digest of the compiled model

    @property
    def problem(self) -> Problem:
        """The problem of an environment that is not refused."""
        assert self.described is not None
        return self.described.problem

    def lines(self, name: str) -> list[str]:
        """What the user of the environment should know, a line each."""
        assert self.described is not None
        described = self.described
        flat = f"environment '{name}': observations are flattened: {', '.join(described.layout)}"
        unrepeatable = f"environment '{name}' cannot be repeated: {self.unrepeatable}; the runs are marked"
        return [
            *([flat] if described.layout else []),
            *described.remarks,
            *([unrepeatable] if self.unrepeatable else []),
        ]

    def record(self) -> dict[str, Any]:
        """Its record in meta.json."""
        assert self.described is not None
        remarkable = {
            "unrepeatable": self.unrepeatable,
            "observation": list(self.described.layout),
            "remarks": list(self.described.remarks),
        }
        return {"tried": self.tried, **{name: value for name, value in remarkable.items() if value}}


def inspect(
    tell: Tell, name: str, settings: Mapping[str, Any], tries: bool, modules: tuple[str, ...] = ()
) -> Admission:
    """Describe an environment and, if `tries`, try it; what goes wrong is the admission's `refusal`.

    `tell("phase", text)` is told what comes next, so that somebody knows it if this process ends. The algorithm's
    `modules` are imported afterwards, so that one process gives all of a run's identity.
    """
    last = ["its import"]

    def say(phase: str) -> None:
        last[0] = phase
        tell("phase", phase)

    try:
        admission = _inspect(say, name, settings, tries)
    except ErlbenchError as error:
        text = str(error)
        refusal = text if isinstance(error, UsageError) else f"environment '{name}' is refused: {text}"
        cause = error.__cause__
        return Admission(refusal=refusal, details="".join(traceback.format_exception(cause)) if cause else "")
    except BaseException as error:  # of the environment, which may raise SystemExit
        refusal = f"environment '{name}' raised {describe_error(error)} in {last[0]} (-v shows the traceback)"
        return Admission(refusal=refusal, details="".join(traceback.format_exception(error)))
    if not modules:
        return admission
    tell("answer", admission)
    return replace(admission, imported=modules, all_files=identity.import_modules(tell, modules))


def _inspect(say: Say, name: str, settings: Mapping[str, Any], tries: bool) -> Admission:
    described = describe_problem(name, settings, say)
    say("its constructor")
    env = build(described.problem.env)
    files, model = identity.list_loaded_files(), identity.model_digest(env)
    untried: tuple[str, str, tuple[str, ...]] = described.problem.env.fresh, "", ()
    fresh, unrepeatable, remarks = try_problem(say, described.problem, env) if tries else untried
    say("close()")
    env.close()
    problem = replace(described.problem, env=replace(described.problem.env, fresh=fresh))
    prefix = f"environment '{name}': "
    all_remarks = (*described.remarks, *(prefix + remark for remark in remarks))
    return Admission(
        described=replace(described, problem=problem, remarks=all_remarks),
        unrepeatable=unrepeatable,
        tried=tries,
        files=files,
        model=model,
    )


def try_problem(say: Say, problem: Problem, env: Env) -> tuple[str, str, tuple[str, ...]]:
    """Play a problem's first steps several times; `env` is a fresh object of it.

    Returns what makes its episodes repeatable (`EnvSpec.fresh`: empty where nothing is needed), what differs where
    nothing helps, and remarks. Raises `TaskError` or `NumericalError` for a step that is not what it must be.
    """
    given = problem.env.fresh
    first: RepeatabilityTest | None = None
    for fresh in (given,) if given else ("", *FRESH):
        if fresh == "reset" and first is not None and first.wears:
            continue
        trial = RepeatabilityTest(problem, fresh, env if fresh == given else None, say)
        first = first or trial
        if not trial.differences and not (first.starts_vary and not trial.starts_vary):
            remarks = list(trial.remarks)
            if fresh and not given:
                remarks.append(f"a used object is not as a fresh one ({first.differences[0]}); fresh={fresh} mends it")
            return fresh, "", tuple(remarks)
    assert first is not None
    return given, first.differences[0], tuple(first.remarks)


class RepeatabilityTest:
    """Episodes with a few seeds on one object and on a second one, and what differs between those with one seed."""

    def __init__(self, problem: Problem, fresh: str, env: Env | None, say: Say) -> None:
        self.remarks: list[str] = []
        self._problem = replace(problem, env=replace(problem.env, fresh=fresh))
        self._actions, self._say = _actions(problem), say
        say("its constructor")
        self.differences: list[str] = []
        first = env or build(self._problem.env)
        begun = self._play(first, SEEDS[0], SECONDS)
        self._actions = self._actions[: len(begun) - 1]
        others = [self._play(first, seed) for seed in SEEDS[1:]]
        self._episodes = dict(zip(SEEDS, (begun, *others), strict=True))
        self._replay(first, SEEDS[:1], "the same object")
        self.wears = not self.differences  # with later ones: they grow with use, so a reset mends nothing
        self._wear(first)
        self._replay(first, SEEDS, "a much used object")
        say("its constructor, for the second time")
        second = build(self._problem.env)
        self._replay(second, SEEDS[:1], "a fresh object")
        self.starts_vary = any(other[0] != begun[0] for other in others)
        if not self.differences and all(other == begun for other in others):
            self.remarks.append("all seeds give one episode, so that the episodes of an evaluation are one sample")
        say("close()")
        for env_object in [second] if first is env else [first, second]:
            env_object.close()

    def _replay(self, env: Env, seeds: Sequence[int], object_text: str) -> None:
        """Play episodes again, and note what differs."""
        for seed in seeds:
            if difference := _difference(self._episodes[seed], self._play(env, seed)):
                text = f"reset(seed={seed}) and the same actions on {object_text} give another {difference}"
                self.differences.append(text)

    def _wear(self, env: Env) -> None:
        """Reset an object many times, as a run does; worlds of Box2D give other numbers only after some resets."""
        began, worked = time.monotonic(), time.process_time()
        for seed in range(RESETS):
            if time.process_time() - worked > SECONDS or time.monotonic() - began > PATIENCE:
                return
            self._say(f"reset(seed={seed})")
            reset(env, seed)

    def _play(self, env: Env, seed: int, seconds: float | None = None) -> list[tuple[Any, ...]]:
        """Observation, reward and end of the reset and of each step. `seconds`: of the first episode of all."""
        self._say(f"reset(seed={seed})")
        observation, begun = reset(env, seed), time.monotonic()
        episode: list[tuple[Any, ...]] = [(observation.tobytes(), 0.0, False, False)]
        self._check_finite(observation, f"reset(seed={seed})")
        for step, action in enumerate(self._actions, 1):
            self._say(f"step {step} after reset(seed={seed})")
            given = np.copy(action)
            observation, reward, terminated, ended = advance(env, action, step, seed, Infos())
            if not np.array_equal(action, given):
                raise UsageError(f"environment '{self._problem.env.id}' changes its action in step {step}; let it copy")
            self._check_finite(observation, f"step {step}")
            if not is_finite(reward):
                raise UsageError(f"environment '{self._problem.env.id}' gives the reward {reward} in step {step}")
            episode.append((observation.tobytes(), reward, terminated, ended))
            if ended or (seconds is not None and step > 1 and time.monotonic() - begun > seconds):
                break
        return episode

    def _check_finite(self, observation: np.ndarray, when: str) -> None:
        if not is_finite(observation):
            raise UsageError(f"environment '{self._problem.env.id}' observes NaN, or too large a number, in {when}")


def _actions(problem: Problem) -> list[Any]:
    """Uniform actions from a fixed generator."""
    random, steps = generator(0, 0), min(STEPS, problem.env.max_episode_steps)
    if problem.discrete:
        return [int(action) for action in random.integers(problem.action_size, size=steps)]
    low, high = np.array(problem.action_low, np.float32), np.array(problem.action_high, np.float32)
    uniform = random.uniform(size=(steps, problem.action_size))
    return [*np.clip((low + (high.astype(np.float64) - low) * uniform).astype(np.float32), low, high)]


def _difference(first: Sequence[tuple[Any, ...]], second: Sequence[tuple[Any, ...]]) -> str:
    """The first thing that differs between two episodes; empty where they are equal."""
    for step, (first_row, second_row) in enumerate(zip(first, second, strict=False)):
        when = f"in step {step}" if step else "at the start"
        for name, a, b in zip(("observation", "reward", "end", "end"), first_row, second_row, strict=True):
            if a != b:
                values = f" ({a:.6g}, then {b:.6g})" if name == "reward" else ""
                return f"{name} {when}{values}"
    return "" if len(first) == len(second) else "end"
