"""Digests of a run's states: equal for equal runs whatever ran them, and not for others."""

import numpy as np
import pytest

from erlbench.records.run import FORMAT
from erlbench.running.checkpoint import compute_digest
from erlbench.verification import UNKNOWN
from erlbench.verification.comparison import run_again
from erlbench.work.store import Store
from erlbench.work.tasks import ReplayView, Result, Task
from tests.faults import Line
from tests.runs import complete, csv_rows, make_cell


def digests(cell):
    """Of each row: the evaluation, its training steps and the digest."""
    rows = csv_rows(cell.directory / "eval.csv")
    return [(row["evaluation"], row["timesteps"], row["digest"]) for row in rows]


def digest(folder, name="1.x", **parts):
    """The digest of a state that has an array in a store, under `name`."""
    store = Store(folder)
    array = store.put(name, np.arange(6, dtype=np.float32).reshape(2, 3))
    state = dict.fromkeys(
        ("seed", "counters", "ids", "time is up", "algorithm", "tasks", "evaluations", "replay", "simulated time")
    )
    state |= {"algorithm": {"array": array, "inline": np.ones(2)}, "ids": 3, "tasks": []}
    return compute_digest(state | parts, store)


def test_the_digest_of_a_state_stays_what_it_is(tmp_path):
    """Stored digests stay comparable: another way to compute them needs another format."""
    assert FORMAT == 5
    assert digest(tmp_path) == "75d87171b4ccdb709b645443f0fc57f4"


def test_every_value_and_its_kind_and_place_are_in_it(tmp_path):
    values = [None, 0, 0.0, -0.0, False, "", "0", [], [[]], [0, 1], [1, 0], [[0], 1], "ab", ["a", "b"], {"a": 1},
              {"a": 2}, {"b": 1}, np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), Task(1, "es", "a:b", (1,)),
              Task(1, "es", "a:b", (2,)), Result(1, {"x": 1}, {}, 0, 0, 0), Result(1, {"x": 2}, {}, 0, 0, 0),
              ReplayView("replay", 1, 1, 0, 5), ReplayView("replay", 1, 1, 0, 6)]  # fmt: skip
    different = {digest(tmp_path, algorithm=value) for value in values}
    different |= {digest(tmp_path, ids=4), digest(tmp_path, seed=1), digest(tmp_path, tasks=[1])}
    assert len(different) == len(values) + 3


@pytest.mark.parametrize("algo", ["td3", "cem"])
def test_one_edited_reward_changes_the_digest(tmp_path, algo, monkeypatch):
    before, after = (make_cell(algo, tmp_path / name, env="tests.faults:Line-v0", steps=400) for name in ("a", "b"))
    complete(before)
    reward = Line.reward
    monkeypatch.setattr(Line, "reward", lambda env: reward(env) + 1e-6)
    complete(after, admission=False)
    ours, theirs = digests(before), digests(after)
    assert ours[0] == theirs[0]  # before the first step
    assert all(one[2] != two[2] for one, two in zip(ours[1:], theirs[1:], strict=True))


def test_a_run_that_depends_on_the_clock_cannot_be_run_again(tmp_path):
    timed = complete(make_cell("aes-rl", tmp_path, steps=200), processes=1)
    assert run_again(timed.directory, 1).outcome == UNKNOWN
