"""What every registered algorithm must do; a new one is run here by its line in the registry.

`make test` has four of them do what all do in `make test-all`.
"""

import functools
from contextlib import ExitStack

import pytest

from erlbench.algorithms import registry
from erlbench.running import checkpoint
from erlbench.running.loop import Run
from tests.runs import (
    ASYNCHRONOUS,
    SYNCHRONOUS,
    all_rows,
    cell_runner,
    check_counts,
    check_same_as_whole,
    complete,
    four_first,
    interrupt,
    interrupt_after,
    make_cell,
    replayed,
    returns,
    rows,
    run,
)

ALGORITHMS = list(registry.ALGORITHMS)
SWEEP_FROM = 4  # arrays: a search after every few results, so that a short run has many


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A finished run of an algorithm, without worker processes and interruptions; made once.

    Its cell, and the number of arrays in the store after each result.
    """

    @functools.cache
    def finished(algo):
        cell, counts, take = make_cell(algo, tmp_path_factory.mktemp(algo)), [], Run._deliver

        def counted(run, result):
            take(run, result)
            counts.append(len(list(run.pool.store.folder.iterdir())))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoint, "SWEEP_FROM", SWEEP_FROM)
            patch.setattr(Run, "_deliver", counted)
            complete(cell)
        return cell, counts

    return finished


@pytest.fixture(scope="module")
def whole(watched):
    """The cell of such a run."""
    return lambda algo: watched(algo)[0]


@pytest.fixture(scope="module")
def runners():
    """Runners by their number of processes, whose workers go from algorithm to algorithm: they import PyTorch once."""
    with ExitStack() as opened:
        yield {processes: opened.enter_context(cell_runner(processes)) for processes in (1, 3)}


@pytest.mark.parametrize("algo", four_first(ALGORITHMS))
def test_it_learns_to_the_end_of_its_budget_and_counts_every_step_once(algo, whole):
    check_counts(whole(algo))
    if registry.find(algo).depends_on_budget(whole(algo).settings).startswith("the last"):
        assert rows(whole(algo).directory, "eval.csv")[-1]["timesteps"] == "1000"


@pytest.mark.parametrize("algo", four_first(ALGORITHMS))
def test_the_reported_score_is_that_of_the_saved_policy(algo, whole):
    *others, last = rows(whole(algo).directory, "eval.csv")
    assert {row["final"] for row in others} == {"0"}
    assert (last["final"], returns(last)) == ("1", replayed(whole(algo)))


@pytest.mark.parametrize("algo", four_first(ALGORITHMS))
def test_shared_memory_does_not_grow_with_the_run(algo, watched):
    """Where nothing is freed, the second half of a run has at least 1.6 times the arrays of the first half."""
    _, counts = watched(algo)
    half = len(counts) // 2
    assert max(counts[half:]) <= 1.5 * max(counts[:half])


@pytest.mark.parametrize("algo", four_first(SYNCHRONOUS))
def test_a_resumed_run_equals_an_uninterrupted_one(algo, whole, tmp_path, monkeypatch):
    expected = all_rows(whole(algo).directory)  # before drivers are made to stop
    parts = make_cell(algo, tmp_path)
    interrupts = 0
    for results in (3, 17, 40):
        with monkeypatch.context() as patch:
            interrupt_after(patch, results)
            code = run(parts)
        assert code in (0, 130)
        interrupts += code == 130
    assert interrupts >= 2
    assert all_rows(complete(parts).directory) == expected


def test_barriers_change_no_row_and_can_be_interrupted(whole, tmp_path):
    """All columns but those of time and the critic's lag; a resumed run waits for no task that was finished before."""
    cell = make_cell("p-cem-rl", tmp_path / "parts", settings={"barriers": True})
    check_same_as_whole(complete(interrupt(cell, 13, 38, 45, 51)))
    separate, overlapping = (all_rows(each.directory) for each in (cell, whole("p-cem-rl")))
    assert {row["critic_lag"] for row in separate["tasks.csv"] if row["kind"] in ("actor", "rl", "es")} == {"0"}
    for rows_of_file in (*separate.values(), *overlapping.values()):
        for row in rows_of_file:
            for column in [name for name in row if name.startswith("critic_lag")]:
                del row[column]
    assert separate == overlapping


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_the_asynchronous_algorithms_are_those_of_the_list(algo):
    kind = registry.find(algo)
    assert kind.is_synchronous(kind.settings_type()) == (algo in SYNCHRONOUS)


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        *((name, {}) for name in ASYNCHRONOUS),
        pytest.param("p-cem-rl", {"parallel_critic": True}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("simulated", [False, True])
def test_an_interrupted_asynchronous_run_goes_on(algo, settings, simulated, tmp_path):
    parts = make_cell(algo, tmp_path / "parts", simulated_time=simulated, settings=settings)
    assert not registry.find(algo).is_synchronous(parts.settings)
    check_counts(complete(interrupt(parts, 5, 30, 60)))
    if simulated:
        check_same_as_whole(parts)


@pytest.mark.parametrize("algo", four_first(SYNCHRONOUS))
def test_the_number_of_processes_changes_no_digit(algo, whole, runners, tmp_path):
    expected = all_rows(whole(algo).directory)
    for processes, runner in runners.items():
        cell = make_cell(algo, tmp_path / str(processes))
        assert runner.run(cell) == "done"
        assert all_rows(cell.directory) == expected, f"{processes} processes"
