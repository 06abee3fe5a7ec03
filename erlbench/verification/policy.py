"""Whether saved policies give the reported returns: they play their evaluations again, episode by episode."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.envs.catalogue import LISTED, module_of, split_preset
from erlbench.envs.registry import EnvSpec
from erlbench.errors import ErlbenchError
from erlbench.files import read_bytes, reason
from erlbench.policy.file import load_policy
from erlbench.pool import local_pool
from erlbench.records.run import POLICIES, POLICY
from erlbench.running.admission import UNTRIED, admitted
from erlbench.running.evaluation import evaluation_seeds, in_parts, policy_file
from erlbench.verification.files import AGREES, DIFFERS, UNKNOWN, Check, Files
from erlbench.work.rollout import RolloutSettings
from erlbench.work.tasks import Priority, Task

NAME = "policy"
MOST_STEPS = 20_000_000  # of all evaluations of a run
SECONDS, STEPS_PER_SECOND = 60.0, 100.0  # that playing may take: a folder's settings may ask for endless steps
Episodes = list[tuple[float, int]]  # returns and lengths


@dataclass(frozen=True)
class SavedEvaluation:
    """An evaluation whose policy was saved: the policy's file, and the row of eval.csv."""

    path: Path
    index: int
    row: Mapping[Any, Any]


class OverBudget(ErlbenchError):
    """Playing takes more steps or seconds than a run may have."""


def check_policies(run: Files, alike: bool, trusted: bool) -> Iterator[Check]:
    """Play the saved policies from the start states of their evaluations and compare each return to the last bit.

    `alike`: whether software and problem are those of the run, so that another return is a difference. A module that
    the folder names is only imported where it is `trusted`: importing runs its code.
    """
    evaluations = _find_evaluations(run)
    if not evaluations:
        yield Check(NAME, UNKNOWN, f"{POLICY} is not there: only the score that was written down remains")
        return
    if run.last.get("final") != 1:
        yield Check(NAME, UNKNOWN, "eval.csv has no final evaluation with start states of its own")
        return
    if (module := module_of(str(run.run.get("env")))) and not trusted:
        yield Check(NAME, UNKNOWN, f"its environment is in the module {module}, which runs code; --import allows that")
        return
    try:
        env = admitted(str(run.run.get("env")), run.table("env_settings"), UNTRIED).problem.env
    except ErlbenchError as error:
        yield Check(NAME, UNKNOWN, f"{error}")
        return
    final = [each for each in evaluations if each.path.name == POLICY]
    if not final:
        yield Check(NAME, UNKNOWN, f"{POLICY} is not there")
    for name, chosen in ((NAME, final), (POLICIES, [each for each in evaluations if each.path.name != POLICY])):
        if chosen:
            try:
                yield _compare(name, chosen, _play(run, env, chosen), alike)
            except OverBudget as error:
                yield Check(name, UNKNOWN, str(error))
            except OSError as error:  # of this machine: no process, no memory
                yield Check(name, UNKNOWN, f"cannot be played here: {reason(error)}")
            except (ErlbenchError, KeyError, TypeError, ValueError) as error:
                yield Check(name, DIFFERS, f"cannot be played: {error}")


def _find_evaluations(run: Files) -> list[SavedEvaluation]:
    """The evaluations whose policies are there, in their order; the final one, if any, is the last."""
    rows = run.evaluations.to_dict("records")
    saved = [SavedEvaluation(policy_file(run.path, index), index, row) for index, row in enumerate(rows)]
    on_the_way, final = [each for each in saved[:-1] if each.row["final"] != 1], saved[-1:]
    saved = [*on_the_way, *(replace(each, path=run.path / POLICY) for each in final)]
    return [each for each in saved if each.path.is_file()]


def _play(run: Files, env: EnvSpec, evaluations: Sequence[SavedEvaluation]) -> list[Episodes]:
    """Returns and lengths of each evaluation, in the order of its start states.

    A listed environment without settings plays in this process: each of its steps ends. Any other one has a worker,
    which is ended when the seconds are used up.
    """
    lengths = [length for each in evaluations for length in each.row["lengths"]]
    steps = sum(min(max(0, int(length)) + 1, env.max_episode_steps) for length in lengths)
    if steps > MOST_STEPS:
        raise OverBudget(f"it has {steps:,} steps, more than the {MOST_STEPS:,} that are played")
    seconds = SECONDS + steps / STEPS_PER_SECOND
    end = time.monotonic() + seconds
    longest = max(lengths, default=0) + 1  # where an episode goes on for longer, it is another one
    limit = longest if longest < env.max_episode_steps else None
    listed = not run.table("env_settings") and split_preset(str(run.run.get("env")))[0] in LISTED
    played, number = [], 0
    with local_pool(0 if listed else 1) as pool:
        for each in evaluations:
            policy, row = load_policy(each.path, inside=2 if each.path.name != POLICY else 1), each.row
            at = None if row["final"] == 1 else int(row["timesteps"])
            seeds = evaluation_seeds(int(run.run["seed"]), at, len(row["returns"]))
            settings = RolloutSettings(env, policy.spec, len(seeds), seeds=seeds, limit=limit, mode=True)
            inputs = {"parameters": pool.store.put(f"policy.{each.index}", policy.parameters)}
            rollout, priority = "erlbench.work.rollout:rollout", Priority.EVALUATION
            parts = in_parts(Task(number, "evaluation", rollout, (number,), settings, inputs, priority))
            pool.submit(parts)
            results: dict[int, Mapping[str, Any]] = {}
            while len(results) < len(parts):
                left = end - time.monotonic()
                if left <= 0 or (result := pool.next_result(left)) is None:
                    raise OverBudget(f"no end within {seconds:,.0f} s for {steps:,} steps")
                results[result.task] = result.values
            in_order = [results[part.id] for part in parts]
            played.append([pair for part in in_order for pair in zip(part["returns"], part["lengths"], strict=True)])
            number += len(parts)
    return played


def _compare(name: str, evaluations: Sequence[SavedEvaluation], played: Sequence[Episodes], alike: bool) -> Check:
    if foreign := [each.path.name for each in evaluations if not _is_recorded(each)]:
        return Check(name, DIFFERS, f"{', '.join(foreign)}: another policy than the one whose SHA-256 eval.csv has")
    differences = (_difference(each, episodes) for each, episodes in zip(evaluations, played, strict=True))
    if wrong := [*filter(None, differences)]:
        return Check(name, DIFFERS if alike else UNKNOWN, "; ".join(wrong[:3]))
    what = "the final evaluation" if name == NAME else f"{len(played)} evaluations on the way"
    return Check(name, AGREES, f"all {sum(map(len, played))} returns of {what} are equal to the last bit")


def _is_recorded(evaluation: SavedEvaluation) -> bool:
    """Whether the policy's file has the SHA-256 of its row; a run of an early version has none."""
    recorded = evaluation.row["policy_sha256"]
    return not recorded or hashlib.sha256(read_bytes(evaluation.path, inside=1)).hexdigest() == recorded


def _difference(evaluation: SavedEvaluation, played: Episodes) -> str:
    """How the episodes of an evaluation differ from its row; empty where they are equal."""
    reported, lengths = evaluation.row["returns"], evaluation.row["lengths"]
    wrong = [i for i, pair in enumerate(zip(reported, lengths, strict=True)) if played[i] != pair]
    if not wrong:
        return ""
    first = wrong[0]
    apart = float(np.max(np.abs(np.array([total for total, _ in played]) - reported)))
    return (
        f"evaluation {evaluation.index}: {len(wrong)} of {len(reported)} returns differ, by {apart:.3g} at most; "
        f"episode {first}: {played[first][0]!r} in {played[first][1]} steps, reported {reported[first]!r} in "
        f"{lengths[first]}"
    )
