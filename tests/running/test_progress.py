"""What is said while cells run: time left, lines that fit, and readers that go away."""

import io
import os
import re
import sys
import threading
from ast import literal_eval
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from rich.console import Console

from erlbench.algorithms.base import Counters
from erlbench.records.run import NEVER_TRAINED
from erlbench.records.schema import RESUMED, EpisodeRow, EventRow, GenerationRow
from erlbench.running import progress
from erlbench.running.progress import Display, ShownRun
from tests.calls import python
from tests.runs import make_cell
from tests.tables import cells


@pytest.fixture
def moment(monkeypatch):
    """The clock, which stands still."""
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: moment[0]))
    moment = [0.0]
    return moment


def test_the_time_left_follows_the_rate(moment):
    """After the training it is that of the evaluations: the line said that no time was left, for half an hour."""
    console = Console(file=io.StringIO(), width=500)
    display = Display(cells=2, console=console)

    def lines(seconds, places):
        for place in places:
            moment[0] += seconds
            display.update("cem, seed 0", *place)
        return console.file.getvalue().splitlines()

    training = lines(5, ((50 * step, 1000, "words") for step in range(7)))
    assert len(training) == 2  # one in 15 s
    assert training[-1].startswith("cem, seed 0: words  10/s  0:01:10 left  [cell 1 of 2, 0:02:5")
    line = lines(10, [(1000, 1000, "words"), *((played, 9, "words", True) for played in range(5))])[-1]
    assert line.startswith("cem, seed 0: words  -/s  0:00:50 left  ")
    display.finished("cem, seed 0", "done")
    assert "cell 2 of 2" in lines(10, [(0, 9, "words"), (1, 9, "words"), (2, 9, "words")])[-1]
    display.close()


def test_a_terminal_has_bars_narrower_than_itself_and_keeps_the_lines_that_stay(monkeypatch):
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)
    display = Display(console=console)
    assert console.file.getvalue().endswith("\x1b[?25h")  # the cursor stays, whatever ends or suspends the process
    display.update(f"{'a long name ' * 9}, seed 10", 10**8, 10**9, "words " * 20 + "ends")
    picture = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", console.file.getvalue())
    assert "seed 10" in picture  # no letter is lost
    assert "ends" in picture
    display.finished("cell 1", "done")
    display.close()
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", console.file.getvalue()))
    assert "cell 1: done" in map(str.strip, lines)
    assert max(map(len, lines)) == 80 - len("^C")  # which the terminal writes behind them


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("FORCE_COLOR", "1")])
def test_a_dumb_terminal_and_a_log_have_lines_as_they_are(monkeypatch, capsys, name, value):
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: name == "TERM")
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    display = Display()
    display.update("cem, seed 0", 10, 100, "words")
    display.message("code.py :bug: no picture of a number")
    display.close()
    bar, line = capsys.readouterr().err.splitlines()
    assert bar.startswith("cem, seed 0: words")
    assert line == "code.py :bug: no picture of a number"


def test_the_bar_of_a_cell_that_has_ended_goes_alone_and_pictures_are_some_time_apart(moment):
    before, console = threading.active_count(), Console(file=io.StringIO(), width=500, force_terminal=True)
    display = Display(cells=2, console=console)
    assert threading.active_count() == before  # none draws by itself
    for cell in ("cem", "td3"):
        display.update(cell, 50, 100, "words")
    display.finished("cem", "done")
    picture = console.file.getvalue().rpartition("cem: done")[2]
    assert ("td3" in picture, "cem" in picture) == (True, False)
    lengths = []
    for moment[0] in (1.0, 1.15, 1.25):
        display.update("td3", 60, 100, "words")
        lengths.append(len(console.file.getvalue()))
    assert lengths[0] == lengths[1] < lengths[2]
    display.close()
    assert "\x1b[2K" in console.file.getvalue()[lengths[2] :]  # which empties a line


@pytest.fixture
def shown(tmp_path, moment):
    """What is shown of a run of 100 minutes, 300 steps and two generations."""
    moment[0] = 100.0
    run = Mock(cell=make_cell("cem", tmp_path), sums={})
    run.algorithm.configure_mock(counters=Counters(timesteps=300, generation=2), measured=dict, critic_updates=1)
    run.algorithm.gradient_workers = lambda settings, workers: workers
    run.evaluations.progress.return_value, run.evaluations.state.last_return = (2, 5), -7.26
    run.clock.configure_mock(ended=False, train=6000.0)
    run.pool.configure_mock(processes=0, running=dict, device="cpu")
    run.directory.configure_mock(path=tmp_path, **{"sums.return_value": {}})
    return ShownRun(run, Mock())


BUDGETS = """
1000 | {}                                           | 300, 1000  | 300/1,000 steps  score -7.3  busy 0/1
200  | {}                                           | 200, 200   | 300/200 steps  score
0    | {"total_minutes": 125}                       | 0.8, 1     | 300 steps, 100.0/125 modelled minutes
1000 | {"total_minutes": 200}                       | 300, 1000  | 300/1,000 steps, 100.0/200 modelled minutes
1000 | {"total_minutes": 1000}                      | 100, 1000  | 300/1,000 steps, 100.0/1000
1000 | {"total_generations": 4}                     | 500, 1000  | 300 steps, generation 2/4
1000 | {"total_generations": 10}                    | 300, 1000  | 300 steps, generation 2/10
"""


@pytest.mark.parametrize(("steps", "changes", "work", "words"), cells(BUDGETS))
def test_the_work_is_that_of_the_budget_which_ends_the_run(shown, steps, changes, work, words):
    shown.run.cell = replace(shown.run.cell, total_timesteps=int(steps), **literal_eval(changes))
    shown.update()
    _, *place, said = shown.display.update.call_args.args
    assert place == pytest.approx(literal_eval(work))
    assert said.startswith(words)
    assert not shown.display.update.call_args.kwargs["is_trained"]


def test_a_run_is_shown_four_times_a_second_and_written_every_ten(shown, moment):
    shown(EpisodeRow(5.0, 10, 1.0, "es", 0, 1, 10))
    update, write = shown.display.update, shown.run.directory.write_status
    calls = []
    for moment[0] in (100.0, 100.2, 100.3, 106.0, 110.0):
        shown.update()
        shown.run.clock.ended = moment[0] > 105
        calls.append((update.call_count, write.call_count))
    assert calls == [(1, 2), (1, 2), (2, 2), (3, 2), (4, 3)]
    assert "training return 5.0" in update.call_args_list[0].args[3]
    assert (update.call_args.args[1:3], update.call_args.kwargs) == ((2, 5), {"is_trained": True})
    assert "evaluation 3 of 5" in update.call_args.args[3]


def test_what_a_run_finds_out_is_said_once_and_that_it_never_trained(shown):
    say, amend = shown.display.message, shown.run.directory.amend_meta
    for name in ("nan_fitness", "sigma", "nan_fitness"):
        shown(GenerationRow(1.0, *[0.0] * 5, {name: 2.0}, *[None] * 6, *[0.0] * 3))
    shown(EpisodeRow(5.0, 10, 1.0, "es", 0, 1, 10))
    for event in ("node lost", "worker lost", "node joined", RESUMED):
        shown(EventRow(0.0, event, ""))
    assert (say.call_count, shown.returns.mean) == (3, None)  # the mean of the rows that there are
    for value in (1, 2):
        shown.run.algorithm.measured = lambda value=value: {"x": value}
        for act in (shown.update, shown.finish)[-value:]:
            act()
    assert shown.finish() == NEVER_TRAINED
    assert (say.call_count, amend.call_count) == (5, 5)
    shown.run.algorithm.counters.critic_updates = 1
    assert shown.finish() == "done, final score -7.3"
    assert shown.end("failed", "no") == "failed"
    assert (amend.call_count, shown.run.directory.write_status.call_args.kwargs["message"]) == (7, "no")


@pytest.mark.parametrize("quiet", [False, True])
def test_a_closed_pipe_fails_no_training(tmp_path, quiet):
    reader, writer = os.pipe()
    os.close(reader)
    words = "-m erlbench run --algo cem --env Pendulum-v1 --total-timesteps 400 --set hidden=8 --eval-episodes 1"
    words += f" --processes 0 {'-q' if quiet else '--verbose'} --out"
    done = python(*words.split(), tmp_path, capture_output=False, stderr=writer, stdout=writer)
    os.close(writer)
    assert done.returncode == 0
    assert '"done"' in (tmp_path / "Pendulum-v1" / "cem" / "seed-000" / "status.json").read_text()
