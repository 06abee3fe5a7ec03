"""The benchmarks' own arithmetic: what counts as met, the floors' products, the busy share."""

import json
import math

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from benchmarks.__main__ import NAMES, as_json, main, table
from benchmarks.cells import Tasks, train
from benchmarks.claims import driver
from benchmarks.claims.command_line import copy_cells
from benchmarks.claims.learning import NO_CORE, _claim
from benchmarks.claims.updates import Bench, random_replay
from benchmarks.harness import Claim, take_turns
from benchmarks.peers.eager import AGENTS, Loop
from benchmarks.peers.floors import Floors, product
from erlbench.envs.registry import problem
from erlbench.reporting.data.runs import find_runs
from erlbench.running.results import RunDirectory
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace


def test_a_claim_is_met_missed_or_not_measured():
    assert [Claim("a", value, 2.0).ok for value in (2.0, 1.9, math.nan)] == [True, False, None]
    assert [Claim("a", value, 2.0, at_least=False).ok for value in (2.0, 2.1, math.nan)] == [True, False, None]
    rows = table([Claim("speed", 1.234567, 2.0, unit="s"), Claim("peer", math.nan, 2.0, note="not measured: why")])
    assert rows[2:] == ["| speed | 1.23 s | ≥ 2 s | NO |", "| peer | not measured: why | ≥ 2 | – |"]
    assert as_json(Claim("peer", math.nan, 2.0))["measured"] is None


def test_candidates_take_turns_after_a_warm_up():
    calls = []
    samples = take_turns({name: lambda name=name: calls.append(name) or len(calls) for name in "ab"}, 3)
    assert "".join(calls) == "abababab"
    assert samples["a"].tolist() == [3, 5, 7]
    assert samples["b"].tolist() == [4, 6, 8]


def test_the_floors_have_the_multiplications_of_the_update_and_no_more():
    s, a, h, k, batch = 5, 2, 16, 8, 4  # observation, action, hidden, hidden
    actor, critic = s * h + h * k + k * a, (s + a) * h + h * k + k
    floors = Floors(s, a, (h, k), batch)
    assert multiplications(floors._critic) == batch * (actor + 4 * critic + 2 * (critic + critic - (s + a) * h))
    expected = actor + critic + (critic - (s + a) * h + a * h) + (actor + actor - s * h)
    assert multiplications(floors._actor) == batch * expected
    assert floors.td3() > 0
    gaussian = s * h + h * k + k * 2 * a
    expected = gaussian + 4 * critic + 2 * (critic + critic - (s + a) * h)
    expected += gaussian + 2 * critic + 2 * (critic - (s + a) * h + a * h) + (gaussian + gaussian - s * h)
    assert multiplications(floors._sac[:-2]) == batch * expected
    moved = sum(operation.args[0].nbytes + operation.args[1].nbytes for operation in floors._sac[-2:])
    parameters = critic + h + k + 1, gaussian + h + k + 2 * a
    assert moved == pytest.approx(2 * parameters[0] * 40 + parameters[1] * 28, abs=16)


def multiplications(operations):
    return sum(op.args[0].shape[0] * op.args[0].shape[1] * op.args[1].shape[1] for op in operations)


def test_a_floors_product_is_that_of_either_library():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((7, 5), dtype=np.float32), random.standard_normal((5, 3), dtype=np.float32)
    assert np.allclose(product(a, b)(), a @ b, atol=1e-6)
    assert np.allclose(product(a[:, :1], b[:1])(), a[:, :1] * b[:1])


def test_the_busy_share_begins_when_both_processes_are_warm_and_ends_with_the_last_start():
    tasks = Tasks(
        process=np.array([0, 1, 0, 1, 0]),
        start=np.array([0.0, 2.0, 4.0, 7.0, 9.0]),
        end=np.array([3.0, 5.0, 8.0, 9.0, 20.0]),
        gradient=np.array([True, True, True, False, True]),
        timesteps=np.array([100, 200, 300]),
        times=np.array([4.0, 6.0, 10.0]),
    )
    assert tasks.warm == 5.0
    assert tasks.busy_share == (3 + 2) / 8  # of 5 to 9: process 0 until 8, process 1 from 7
    assert tasks.seconds_per_step == 4.0 / 100


def test_a_run_without_gradients_is_warm_at_once():
    none, times = np.array([]), np.array([1.0, 3.0])
    assert (
        Tasks(
            process=none,
            start=none,
            end=none,
            gradient=np.array([], bool),
            timesteps=np.array([100, 200]),
            times=times,
            processes=4,
        ).seconds_per_step
        == 0.02
    )


def test_updates_are_timed_for_any_shape(tmp_path):
    store = Store.create()
    try:
        bench = Bench(5, 2, (8, 8), 4, random_replay(tmp_path, 5, 2), Workspace(store))
        assert min(bench.critic(), bench.actor(), bench.td3(), bench.sac()) > 0
    finally:
        store.close()


@pytest.mark.parametrize("algo", AGENTS)
def test_the_eager_loops_learn_from_their_steps(algo):
    agent = AGENTS[algo](problem("Pendulum-v1"), (8, 8), 16)
    loop = Loop("Pendulum-v1", agent, capacity=60)
    before = [parameter.detach().clone() for parameter in agent.reference.actor.parameters()]
    loop.explore(50)
    loop.learn(31)
    assert not any(torch.equal(a, b) for a, b in zip(before, agent.reference.actor.parameters()))
    assert loop._length == 81
    assert all(parameter.isfinite().all() for parameter in agent.reference.critics.parameters())


def test_what_was_not_timed_is_not_measured():
    seconds = {"erlbench": np.array([1.0, 2.0]), "eager": np.array([3.0, 4.0])}
    assert _claim("c", 2.0, seconds, "eager").measured == 2.5
    assert _claim("c", 2.0, seconds, "stable_baselines3", NO_CORE).note == NO_CORE


def test_an_unknown_benchmark_is_named_beside_the_known():
    done = CliRunner().invoke(main, ["rolouts"])
    assert done.exit_code == 2
    assert all(name in done.output for name in NAMES)


def test_the_cells_of_the_reports_benchmark_are_whole(tmp_path):
    assert copy_cells(tmp_path, 100) == 100
    runs = find_runs([tmp_path], pytest.fail)
    assert {(len(run.evaluations), run.status) for run in runs} == {(101, "done"), (301, "done")}
    for path in (run.path for run in runs[::9]):
        sums = json.loads((path / "status.json").read_text())["files"]
        there = {name: value for name, value in sums.items() if (path / name).exists()}
        assert "eval.csv" in there
        assert RunDirectory(path).damaged(there) == []


@pytest.mark.parametrize("run", [driver.cem, driver.openai_es])
def test_the_drivers_benchmark_times_every_generation_but_the_first(run, monkeypatch):
    for name, value in {"POPULATION": 20, "GENERATIONS": 3, "WIDTHS": {"population": 20, "hidden": (8,)}}.items():
        monkeypatch.setattr(driver, name, value)
    assert len(run().generations) == 2


def test_a_benchmark_trains_a_cell():
    tasks = train("cem", 1500, processes=1, population=5)
    assert tasks.timesteps[-1] >= 1500
    assert 0 < tasks.seconds_per_step < 1


def test_a_benchmark_that_fails_costs_only_its_own_rows(tmp_path, monkeypatch):
    def fail():
        yield Claim("before", 1.0, 2.0)
        raise RuntimeError("no such thing")

    monkeypatch.setattr("benchmarks.claims.schedule.measure", fail)
    monkeypatch.setattr("benchmarks.claims.driver.measure", lambda: [Claim("other", 3.0, 2.0)])
    done = CliRunner().invoke(main, ["schedule", "driver", "--out", str(tmp_path / "bench.json")])
    assert done.exit_code == 1
    assert "end: schedule" in done.output
    claims = json.loads((tmp_path / "bench.json").read_text())["claims"]
    assert [claim["measured"] for claim in claims] == [1.0, 3.0]


@pytest.mark.slow
def test_a_benchmark_prints_a_table_and_writes_what_it_measured(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.claims.command_line.COUNTS", {50: 60.0})
    done = CliRunner().invoke(main, ["command_line", "--out", str(tmp_path / "bench.json")])
    assert done.exit_code == 0, done.output
    assert "| erlbench --help |" in done.output
    assert '"cpu"' in (tmp_path / "bench.json").read_text()
