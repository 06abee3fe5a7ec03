"""Digests of a run's states: equal for equal runs whatever ran them, and not for others."""

from __future__ import annotations

import shutil

import gymnasium
import numpy as np
import pytest

from erlbench.errors import UsageError
from erlbench.running.checkpoint import FORMAT
from erlbench.running.state import StateDigest
from erlbench.verification import AGREES, DIFFERS, UNKNOWN
from erlbench.verification.comparison import run_again
from erlbench.work.store import Store
from erlbench.work.tasks import ReplayView, Result, Task
from tests.runs import csv_rows, interrupt, make_cell, run


def digests(cell):
    """Of each row: the evaluation, its training steps and the digest."""
    rows = csv_rows(cell.directory / "eval.csv")
    return [(row["evaluation"], row["timesteps"], row["digest"]) for row in rows]


@pytest.mark.parametrize(
    "algo", ["cem", "openai-es", *(pytest.param(algo, marks=pytest.mark.slow) for algo in ("td3", "cem-rl", "ppo"))]
)
def test_equal_runs_have_equal_digests_whatever_ran_them(tmp_path, algo):
    whole, parts, workers = (make_cell(algo, tmp_path / name, steps=1500) for name in ("whole", "parts", "workers"))
    assert run(whole) == 0
    interrupt(parts, 5, 9)
    assert run(parts) == 0
    assert run(workers, processes=2) == 0
    found = digests(whole)
    assert len({digest for _, _, digest in found}) == len(found) > 2
    assert digests(parts) == digests(workers) == found


@pytest.mark.parametrize("algo", ["aes-rl", "p-cem-rl"])
def test_in_simulated_time_asynchronous_runs_have_equal_digests(tmp_path, algo):
    given = {"steps": 700, "simulated_time": True, "simulated_processes": 3}
    whole, parts, workers = (make_cell(algo, tmp_path / name, **given) for name in ("whole", "parts", "workers"))
    assert run(whole) == 0
    interrupt(parts, 11)
    assert run(parts) == 0
    assert run(workers, processes=2) == 0
    assert digests(whole) == digests(parts) == digests(workers)


def digest(folder, name="1.x", **parts):
    """The digest of a state that has an array in a store, under `name`."""
    store = Store(folder)
    array = store.put(name, np.arange(6, dtype=np.float32).reshape(2, 3))
    state = dict.fromkeys(
        ("seed", "counters", "ids", "time is up", "algorithm", "tasks", "evaluations", "replay", "simulated time")
    )
    state |= {"algorithm": {"array": array, "inline": np.ones(2)}, "ids": 3, "tasks": []}
    return StateDigest(store).of(state | parts)


def test_the_digest_of_a_state_stays_what_it_is(tmp_path):
    """Stored digests stay comparable: another way to compute them needs another format."""
    assert FORMAT == 5
    assert digest(tmp_path) == "75d87171b4ccdb709b645443f0fc57f4"


def test_every_value_and_its_kind_and_place_are_in_it(tmp_path):
    values = [None, 0, 0.0, False, True, "", "0", 1, -1, 1.5, [], [[]], [0, 1], [1, 0], [[0], 1], "ab", ["a", "b"],
              {"a": 1}, {"a": 2}, {"b": 1}, np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), -0.0,
              Task(1, "es", "a:b", (1,)), Task(1, "es", "a:b", (2,)), Result(1, {"x": 1}, {}, 0, 0, 0),
              Result(1, {"x": 2}, {}, 0, 0, 0), ReplayView("replay", 1, 1, 0, 5),
              ReplayView("replay", 1, 1, 0, 6)]  # fmt: skip
    found = {digest(tmp_path, algorithm=value) for value in values}
    found |= {digest(tmp_path, ids=4), digest(tmp_path, seed=1), digest(tmp_path, tasks=[1])}
    assert len(found) == len(values) + 3


class Edited(gymnasium.Env):
    """A walk on a line; one reward, of step 40 of each life of the object, is another one where `EDIT` is set."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    EDIT = 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = float(self.np_random.normal()), 0
        return np.array([self.place], np.float32), {}

    def step(self, action):
        self.place += float(action[0])
        self.steps += 1
        reward = -abs(self.place) + (self.EDIT if self.steps == 40 else 0.0)
        return np.array([self.place], np.float32), reward, False, self.steps >= 50, {}


gymnasium.register("tests/Edited-v0", Edited, max_episode_steps=50)


@pytest.mark.parametrize("algo", ["td3", "cem"])
def test_one_edited_reward_changes_the_digest(tmp_path, algo, monkeypatch):
    before, after = (make_cell(algo, tmp_path / name, env="tests/Edited-v0", steps=400) for name in ("a", "b"))
    assert run(before) == 0
    monkeypatch.setattr(Edited, "EDIT", 1e-6)
    assert run(after) == 0
    ours, theirs = digests(before), digests(after)
    assert ours[0] == theirs[0]  # before the first step
    assert all(one[2] != two[2] for one, two in zip(ours[1:], theirs[1:], strict=True))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    cell = make_cell("td3", tmp_path_factory.mktemp("made"), steps=1000, workers=0)
    assert run(cell) == 0
    return cell.directory


@pytest.mark.parametrize("number", [0, 2, 4])
def test_a_second_run_has_the_digests_of_the_first(made, number):
    check = run_again(made, number)
    assert check.outcome == AGREES, check.text


def test_a_second_run_finds_an_edited_digest(made, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    digest = csv_rows(copy / "eval.csv")[2]["digest"]
    text = (copy / "eval.csv").read_text()
    (copy / "eval.csv").write_text(text.replace(digest, "0" * len(digest)))
    assert run_again(copy, 1).outcome == AGREES
    assert run_again(copy, 2).outcome == DIFFERS


def test_what_cannot_be_run_again_is_said(made, tmp_path):
    with pytest.raises(UsageError, match="has the evaluations"):
        run_again(made, 5)
    timed = make_cell("aes-rl", tmp_path, steps=200)
    assert run(timed, processes=1) == 0
    assert run_again(timed.directory, 1).outcome == UNKNOWN
