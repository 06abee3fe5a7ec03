"""Whether saved policies give the reported returns: they play their evaluations again, episode by episode."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.envs.catalogue import LISTED, module_of, split_preset
from erlbench.envs.registry import EnvSpec, build
from erlbench.errors import ErlbenchError
from erlbench.files import read_bytes, reason
from erlbench.policy import load_policy
from erlbench.pool.apart import NoEnd, apart
from erlbench.records.run import POLICIES, POLICY
from erlbench.running.admission import UNTRIED, admit
from erlbench.running.evaluation import evaluation_seeds, policy_file
from erlbench.verification.files import Check, Files, Findings, Unverifiable, make_check
from erlbench.work.rollout import play

NAME = "policy"
MOST_STEPS = 20_000_000  # of all evaluations of a run
SECONDS, STEPS_PER_SECOND = 60.0, 100.0  # that playing may take: a folder's settings may ask for endless steps
Saved = tuple[Path, Mapping[Any, Any]]  # a policy's file, and the row of eval.csv
Episodes = list[tuple[float, int]]  # returns and lengths


def check_policies(run: Files, alike: bool, trusted: bool) -> Iterator[Check]:
    """Play the saved policies from the start states of their evaluations and compare each return to the last bit.

    `alike`: whether software and problem are those of the run, so that another return is a difference. A module that
    the folder names is only imported where it is `trusted`: importing runs its code.
    """
    rows = run.evaluations.to_dict("records")
    final = [(run.path / POLICY, row) for row in rows[-1:]]
    others = [(policy_file(run.path, index), row) for index, row in enumerate(rows[:-1]) if row["final"] != 1]
    final, others = ([saved for saved in group if saved[0].is_file()] for group in (final, others))
    yield make_check(NAME, _compare, run, final, alike, trusted)
    if others and rows[-1]["final"] == 1:
        yield make_check(POLICIES, _compare, run, others, alike, trusted)


def _compare(run: Files, policies: Sequence[Saved], alike: bool, trusted: bool) -> Findings:
    if not policies:
        raise Unverifiable(f"{POLICY} is not there: only the score that was written down remains")
    if run.last["final"] != 1:
        raise Unverifiable("eval.csv has no final evaluation with start states of its own")
    if (module := module_of(run.env)) and not trusted:
        raise Unverifiable(f"its environment is in the module {module}, which runs code; --import allows that")
    try:
        env = admit(run.env, run.table("env_settings"), UNTRIED).problem.env
    except ErlbenchError as error:
        raise Unverifiable(error) from error
    try:
        for path, row in policies:  # a row of an early version has no SHA-256
            if row["policy_sha256"] not in ("", hashlib.sha256(read_bytes(path, inside=1)).hexdigest()):
                return [f"{path.name}: another policy than the one whose SHA-256 eval.csv has"], ""
        played = _play_within_limits(run, env, policies)
        wrong = [text for (_, row), episodes in zip(policies, played) if (text := _difference(row, episodes))]
    except OSError as error:  # of this machine: no process, no memory
        raise Unverifiable(f"cannot be played here: {reason(error)}") from error
    except (ErlbenchError, KeyError, TypeError, ValueError) as error:
        return [f"cannot be played: {error}"], ""
    if wrong and not alike:
        raise Unverifiable("; ".join(wrong[:3]))
    what = "the final evaluation" if policies[0][0].name == POLICY else f"{len(played)} evaluations on the way"
    return wrong, f"all {sum(map(len, played))} returns of {what} are equal to the last bit"


def _play_within_limits(run: Files, env: EnvSpec, policies: Sequence[Saved]) -> list[Episodes]:
    """Returns and lengths of each evaluation, in the order of its start states.

    A listed environment without settings plays in this process: each of its steps ends. Any other one has a process
    that is ended when the seconds are used up.
    """
    lengths = [int(length) for _, row in policies for length in row["lengths"]]
    steps = sum(min(max(0, length) + 1, env.max_episode_steps) for length in lengths)
    if steps > MOST_STEPS:
        raise Unverifiable(f"it has {steps:,} steps, more than the {MOST_STEPS:,} that are played")
    limit = min(env.max_episode_steps, max(lengths, default=0) + 1)  # where an episode goes on, it is another one
    arguments = env, int(run.table("run")["seed"]), policies, limit
    if not run.table("env_settings") and split_preset(run.env)[0] in LISTED:
        return _play(*arguments)
    seconds = SECONDS + steps / STEPS_PER_SECOND
    try:
        played: list[Episodes] = apart(_play, *arguments, seconds=seconds)
    except NoEnd as error:
        raise Unverifiable(f"no end within {seconds:,.0f} s for {steps:,} steps") from error
    return played


def _play(spec: EnvSpec, seed: int, policies: Sequence[Saved], limit: int) -> list[Episodes]:
    evaluations = []
    with closing(build(spec)) as env:
        for path, row in policies:
            policy = load_policy(path, inside=1 if path.name == POLICY else 2)
            at = None if row["final"] == 1 else int(row["timesteps"])
            seeds = evaluation_seeds(seed, at, len(row["returns"]))
            played = (play(env, policy, limit, each, mode=True) for each in seeds)
            evaluations.append([(episode.total, episode.length) for episode in played])
    return evaluations


def _difference(row: Mapping[Any, Any], played: Episodes) -> str:
    """How the episodes of an evaluation differ from its row; empty where they are equal."""
    reported = list(zip(row["returns"], row["lengths"], strict=True))
    count = sum(ours != theirs for ours, theirs in zip(played, reported, strict=True))
    returns, steps = np.abs(np.subtract(played, reported)).max(axis=0)
    where = f"after {row['timesteps']:,} steps {count} of {len(reported)} returns differ"
    return f"{where}, by {returns:.3g} and {steps:.0f} steps at most" if count else ""
