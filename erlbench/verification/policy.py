"""Whether the saved policy gives the reported returns: it plays the final evaluation again, episode by episode."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from erlbench.envs.catalogue import module_of
from erlbench.envs.registry import EnvSpec, build, problem
from erlbench.errors import ErlbenchError
from erlbench.policy import NumpyPolicy
from erlbench.policy.file import load_policy
from erlbench.running.evaluation import evaluation_seeds
from erlbench.running.results import POLICY
from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files
from erlbench.work.rollout import play

NAME = "policy"


def check_policy(run: Files, alike: bool, trusted: bool) -> Iterator[Check]:
    """Play the saved policy from the start states of the final evaluation and compare each return to the last bit.

    `alike`: whether software and problem are those of the run, so that another return is a difference.
    A module that the folder names is only imported where it is `trusted`: importing runs its code.
    """
    if not (run.path / POLICY).is_file():
        yield Check(NAME, UNKNOWN, f"{POLICY} is not there: only the score that was written down remains")
        return
    if run.last.get("final") != "1":
        yield Check(NAME, UNKNOWN, "eval.csv has no final evaluation with start states of its own")
        return
    if (module := module_of(str(run.run.get("env")))) and not trusted:
        yield Check(NAME, UNKNOWN, f"its environment is in the module {module}, which runs code; --import allows that")
        return
    try:
        task = problem(str(run.run.get("env")), run.table("env_settings")).env
    except ErlbenchError as error:
        yield Check(NAME, UNKNOWN, f"{error}")
        return
    try:
        yield _compare(run, task, load_policy(run.path / POLICY), alike)
    except (ErlbenchError, KeyError, TypeError, ValueError) as error:
        yield Check(NAME, DIFFERS, f"cannot be played: {error}")


def _compare(run: Files, task: EnvSpec, policy: NumpyPolicy, alike: bool) -> Check:
    reported = list(map(float, run.last["returns"].split()))
    lengths = list(map(int, run.last["lengths"].split()))
    env = build(task)
    try:
        seeds = evaluation_seeds(int(run.run["seed"]), None, len(reported))
        episodes = [play(env, policy, task.max_episode_steps, seed, mode=True) for seed in seeds]
        played = [(episode.total, episode.length) for episode in episodes]
    finally:
        env.close()
    wrong = [i for i, pair in enumerate(zip(reported, lengths, strict=True)) if played[i] != pair]
    if not wrong:
        return Check(NAME, AGREES, f"all {len(reported)} returns of the final evaluation are equal to the last bit")
    first = wrong[0]
    apart = float(np.max(np.abs(np.array([total for total, _ in played]) - reported)))
    text = (
        f"{len(wrong)} of {len(reported)} returns differ, by {apart:.3g} at most; episode {first}: "
        f"{played[first][0]!r} in {played[first][1]} steps, reported {reported[first]!r} in {lengths[first]}"
    )
    return Check(NAME, DIFFERS if alike else UNKNOWN, text)
