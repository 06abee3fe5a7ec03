"""Whether saved policies give the reported returns: they play their evaluations again, episode by episode."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
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


class OverBudget(ErlbenchError):
    """Playing takes more steps or seconds than a run may have."""


def check_policies(run: Files, alike: bool, trusted: bool) -> Iterator[Check]:
    """Play the saved policies from the start states of their evaluations and compare each return to the last bit.

    `alike`: whether software and problem are those of the run, so that another return is a difference. A module that
    the folder names is only imported where it is `trusted`: importing runs its code.
    """
    policies = _find_policies(run)
    if not policies:
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
    final = {index: path for index, path in policies.items() if path.name == POLICY}
    if not final:
        yield Check(NAME, UNKNOWN, f"{POLICY} is not there")
    for name, chosen in ((NAME, final), (POLICIES, {i: path for i, path in policies.items() if i not in final})):
        if chosen:
            try:
                yield _compare(name, run, _play(run, env, chosen), chosen, alike)
            except OverBudget as error:
                yield Check(name, UNKNOWN, str(error))
            except OSError as error:  # of this machine: no process, no memory
                yield Check(name, UNKNOWN, f"cannot be played here: {reason(error)}")
            except (ErlbenchError, KeyError, TypeError, ValueError) as error:
                yield Check(name, DIFFERS, f"cannot be played: {error}")


def _find_policies(run: Files) -> dict[int, Path]:
    """The files of policies by the index of their row in eval.csv."""
    final = run.evaluations["final"]
    paths = {index: policy_file(run.path, index) for index, last in enumerate(final) if last != 1}
    if len(final):
        paths[len(final) - 1] = run.path / POLICY
    return {index: path for index, path in paths.items() if path.is_file()}


def _play(run: Files, env: EnvSpec, policies: Mapping[int, Path]) -> dict[int, Episodes]:
    """Returns and lengths of each evaluation, in the order of its start states.

    A listed environment without settings plays in this process: each of its steps ends. Any other one has a worker,
    which is ended when the seconds are used up.
    """
    lengths = [length for index in policies for length in _row(run, index)["lengths"]]
    steps = sum(min(max(0, int(length)) + 1, env.max_episode_steps) for length in lengths)
    if steps > MOST_STEPS:
        raise OverBudget(f"it has {steps:,} steps, more than the {MOST_STEPS:,} that are played")
    seconds = SECONDS + steps / STEPS_PER_SECOND
    end = time.monotonic() + seconds
    longest = max(lengths, default=0) + 1  # where an episode goes on for longer, it is another one
    limit = longest if longest < env.max_episode_steps else None
    rows: dict[int, int] = {}  # of tasks
    tasks: list[Task] = []
    results: dict[int, Mapping[str, Any]] = {}
    listed = not run.table("env_settings") and split_preset(str(run.run.get("env")))[0] in LISTED
    with local_pool(0 if listed else 1) as pool:
        for index, path in policies.items():
            policy, row = load_policy(path, inside=2 if path.name != POLICY else 1), _row(run, index)
            parameters = pool.store.put(f"policy.{index}", policy.parameters)
            at = None if row["final"] == 1 else int(row["timesteps"])
            seeds = evaluation_seeds(int(run.run["seed"]), at, len(row["returns"]))
            settings = RolloutSettings(env, policy.spec, len(seeds), seeds=seeds, limit=limit, mode=True)
            number = len(tasks)
            tasks += in_parts(
                Task(number, "evaluation", "erlbench.work.rollout:rollout", (number,), settings,
                     {"parameters": parameters}, Priority.EVALUATION)
            )  # fmt: skip
            rows |= dict.fromkeys(range(number, len(tasks)), index)
        pool.submit(tasks)
        while len(results) < len(tasks):
            left = end - time.monotonic()
            if left <= 0 or (result := pool.next_result(left)) is None:
                raise OverBudget(f"no end within {seconds:,.0f} s for {steps:,} steps")
            results[result.task] = result.values
    played: dict[int, Episodes] = {index: [] for index in policies}
    for number, values in sorted(results.items()):
        played[rows[number]] += zip(values["returns"], values["lengths"], strict=True)
    return played


def _compare(name: str, run: Files, played: Mapping[int, Episodes], policies: Mapping[int, Path], alike: bool) -> Check:
    foreign = [path.name for index, path in policies.items() if not _is_recorded(path, _row(run, index))]
    if foreign:
        return Check(name, DIFFERS, f"{', '.join(foreign)}: another policy than the one whose SHA-256 eval.csv has")
    wrong = [text for index, episodes in played.items() if (text := _difference(index, _row(run, index), episodes))]
    if wrong:
        return Check(name, DIFFERS if alike else UNKNOWN, "; ".join(wrong[:3]))
    what = "the final evaluation" if name == NAME else f"{len(played)} evaluations on the way"
    return Check(name, AGREES, f"all {sum(map(len, played.values()))} returns of {what} are equal to the last bit")


def _row(run: Files, index: int) -> Mapping[str, Any]:
    return dict(run.evaluations.iloc[index])


def _is_recorded(path: Path, row: Mapping[str, Any]) -> bool:
    """Whether a policy's file has the SHA-256 of its row; a run of an early version has none."""
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
