"""Whether saved policies give the reported returns: they play their evaluations again, episode by episode."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.envs.catalogue import module_of
from erlbench.envs.registry import EnvSpec
from erlbench.errors import ErlbenchError
from erlbench.files import read_bytes, reason
from erlbench.policy.file import load_policy
from erlbench.pool import local_pool
from erlbench.records.run import POLICIES, POLICY
from erlbench.running import kept_policies
from erlbench.running.evaluation import evaluation_seeds, in_parts
from erlbench.verification.budget import OverBudget, PlayingBudget, bounded_problem, is_bounded
from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files
from erlbench.work.rollout import RolloutSettings
from erlbench.work.tasks import Priority, Task

NAME = "policy"
Played = list[tuple[float, int]]  # returns and lengths


def check_policies(
    run: Files, alike: bool, trusted: bool, processes: int = 0, seconds: float | None = None
) -> Iterator[Check]:
    """Play the saved policies from the start states of their evaluations and compare each return to the last bit.

    `alike`: whether software and problem are those of the run, so that another return is a difference. A module that
    the folder names is only imported where it is `trusted`: importing runs its code. The episodes
    are played by `processes` workers, by one at least where a step may not end (`is_bounded`). They have
    `seconds`, by default those of the budget.
    """
    held = _held(run)
    if not held:
        yield Check(NAME, UNKNOWN, f"{POLICY} is not there: only the score that was written down remains")
        return
    if run.last.get("final") != 1:
        yield Check(NAME, UNKNOWN, "eval.csv has no final evaluation with start states of its own")
        return
    if (module := module_of(str(run.run.get("env")))) and not trusted:
        yield Check(NAME, UNKNOWN, f"its environment is in the module {module}, which runs code; --import allows that")
        return
    try:
        task = bounded_problem(str(run.run.get("env")), run.table("env_settings")).env
    except ErlbenchError as error:
        yield Check(NAME, UNKNOWN, f"{error}")
        return
    final = {index: path for index, path in held.items() if path.name == POLICY}
    others = {index: path for index, path in held.items() if path.name != POLICY}
    if not final:
        yield Check(NAME, UNKNOWN, f"{POLICY} is not there")
    for name, chosen in ((NAME, final), (POLICIES, others)):
        if chosen:
            try:
                yield _compare(name, run, _play(run, task, chosen, processes, seconds), chosen, alike)
            except OverBudget as error:
                yield Check(name, UNKNOWN, str(error))
            except OSError as error:  # of this machine: no process, no memory
                yield Check(name, UNKNOWN, f"cannot be played here: {reason(error)}")
            except (ErlbenchError, KeyError, TypeError, ValueError) as error:
                yield Check(name, DIFFERS, f"cannot be played: {error}")


def _held(run: Files) -> dict[int, Path]:
    """The files of policies by the index of their row in eval.csv."""
    final = run.evaluations["final"]
    found = {index: kept_policies.file(run.path, index) for index, last in enumerate(final) if last != 1}
    if len(final):
        found[len(final) - 1] = run.path / POLICY
    return {index: path for index, path in found.items() if path.is_file()}


def _play(
    run: Files, env: EnvSpec, held: Mapping[int, Path], processes: int, seconds: float | None
) -> dict[int, Played]:
    """Returns and lengths of each evaluation, in the order of its start states."""
    lengths = [length for index in held for length in _row(run, index)["lengths"]]
    budget = PlayingBudget(sum(min(max(0, int(length)) + 1, env.max_episode_steps) for length in lengths), seconds)
    longest = max(lengths, default=0) + 1  # where an episode goes on for longer, it is another one
    limit = longest if longest < env.max_episode_steps else None
    parts: dict[int, int] = {}  # task -> row
    played: dict[int, Played] = {index: [] for index in held}
    with local_pool(processes or int(not is_bounded(str(run.run.get("env")), run.table("env_settings")))) as pool:
        tasks: list[Task] = []
        for index, path in held.items():
            policy, row = load_policy(path, inside=2 if path.name != POLICY else 1), _row(run, index)
            parameters = pool.store.put(f"policy.{index}", policy.parameters)
            steps = None if row["final"] == 1 else int(row["timesteps"])
            seeds = evaluation_seeds(int(run.run["seed"]), steps, len(row["returns"]))
            settings = RolloutSettings(env, policy.spec, len(seeds), seeds=seeds, limit=limit, mode=True)
            number = len(tasks)
            tasks += in_parts(
                Task(number, "evaluation", "erlbench.work.rollout:rollout", (number,), settings,
                     {"parameters": parameters}, Priority.EVALUATION)
            )  # fmt: skip
            parts |= dict.fromkeys(range(number, len(tasks)), index)
        pool.submit(tasks)
        results: dict[int, Mapping[str, Any]] = {}
        while len(results) < len(tasks):
            if budget.left <= 0 or (result := pool.next_result(budget.left)) is None:
                raise budget.used_up()
            results[result.task] = result.values
    for number, values in sorted(results.items()):
        played[parts[number]] += zip(values["returns"], values["lengths"], strict=True)
    return played


def _compare(name: str, run: Files, played: Mapping[int, Played], held: Mapping[int, Path], alike: bool) -> Check:
    foreign = [path.name for index, path in held.items() if not _is_recorded(path, _row(run, index))]
    if foreign:
        return Check(name, DIFFERS, f"{', '.join(foreign)}: another policy than the one whose SHA-256 eval.csv has")
    wrong = [text for index, episodes in played.items() if (text := _difference(index, _row(run, index), episodes))]
    returns = sum(map(len, played.values()))
    if wrong:
        return Check(name, DIFFERS if alike else UNKNOWN, "; ".join(wrong[:3]))
    what = "the final evaluation" if name == NAME else f"{len(played)} evaluations on the way"
    return Check(name, AGREES, f"all {returns} returns of {what} are equal to the last bit")


def _row(run: Files, index: int) -> Mapping[str, Any]:
    return dict(run.evaluations.iloc[index])


def _is_recorded(path: Path, row: Mapping[str, Any]) -> bool:
    """Whether a policy's file has the SHA-256 of its row; a run of before has none."""
    recorded = row["policy_sha256"]
    return not recorded or hashlib.sha256(read_bytes(path, inside=1)).hexdigest() == recorded


def _difference(index: int, row: Mapping[str, Any], played: Sequence[tuple[float, int]]) -> str:
    """How the episodes of an evaluation differ from its row; empty where they are equal."""
    reported, lengths = row["returns"], row["lengths"]
    wrong = [i for i, pair in enumerate(zip(reported, lengths, strict=True)) if played[i] != pair]
    if not wrong:
        return ""
    first = wrong[0]
    apart = float(np.max(np.abs(np.array([total for total, _ in played]) - reported)))
    return (
        f"evaluation {index}: {len(wrong)} of {len(reported)} returns differ, by {apart:.3g} at most; episode {first}: "
        f"{played[first][0]!r} in {played[first][1]} steps, reported {reported[first]!r} in {lengths[first]}"
    )
