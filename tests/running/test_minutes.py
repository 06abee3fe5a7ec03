"""A budget in modelled minutes: where the run ends, what it refuses, and what others say of it."""

import pytest

from tests.calls import refuse
from tests.runs import FILES, complete, csv_rows, interrupt, make_cell, write_options
from tests.tables import cells

MINUTES = {"cem": 0.02, "cem-rl": 0.4, "p-cem-rl": 0.4, "aes-rl": 0.05}
INTERRUPTED = ["cem", "aes-rl", *(pytest.param(algo, marks=pytest.mark.slow) for algo in ("cem-rl", "p-cem-rl"))]
GRADIENTS = {"population": 4, "elites": 2, "n_grad": 2}
NEW = ("es", "actor", "random")  # tasks with which an individual of AES-RL begins


def cell_of(algo, folder, steps=0, **changes):
    settings = GRADIENTS if "cem-rl" in algo else {}
    given = {"total_minutes": MINUTES[algo], "simulated_time": True, "simulated_processes": 3, "settings": settings}
    return make_cell(algo, folder, "Pendulum-v1", steps, **(given | changes))


def lines(cell, name):
    """All columns but the real processor time of tasks."""
    return sorted(str(row | {"cpu_s": ""}) for row in csv_rows(cell.directory / name))


@pytest.mark.parametrize("algo", MINUTES)
def test_a_run_ends_after_the_first_generation_behind_its_minutes(algo, tmp_path):
    cell = complete(cell_of(algo, tmp_path))
    ends = [float(row["train_time_s"]) for row in csv_rows(cell.directory / "train.csv")]
    last = next(number for number, end in enumerate(ends) if end >= 60 * MINUTES[algo])
    assert last > 2
    if algo == "aes-rl":  # individuals that are under way come to their end, and nothing begins
        tasks = csv_rows(cell.directory / "tasks.csv")
        for name in ("staleness", "critic_lag"):
            assert max(int(row[name]) for row in tasks if row[name]) > 0
        begun = [float(row["ready_s"]) for row in tasks if row["kind"] in NEW]
        assert ends[last - 1] <= max(begun) < ends[last]
    else:
        assert last == len(ends) - 1
    assert int(csv_rows(cell.directory / "eval.csv")[-1]["final"]) == 1


@pytest.mark.parametrize("algo", INTERRUPTED)
def test_an_interruption_changes_nothing(algo, tmp_path):
    whole, parts = (cell_of(algo, tmp_path / name) for name in ("whole", "parts"))
    complete(whole, interrupt(parts, 3, 25))
    for name in FILES:
        assert lines(whole, name) == lines(parts, name), name


REFUSED = """
--algo cem                                        | --simulated-time
--algo cem,ppo --simulated-time                   | ppo, which needs its number of steps: the last iter
--algo esac --set p_clock=budget --simulated-time | esac, which needs its number of
"""


@pytest.mark.parametrize(("words", "message"), cells(REFUSED))
def test_what_cannot_be_run_is_refused_in_one_line(words, message, tmp_path):
    config = write_options(tmp_path / "options.toml", total_minutes=3)
    given = ("--config", config, "--env", "Pendulum-v1", "--out", tmp_path / "out", *words.split())
    refuse(message, "run", *given)
    assert not (tmp_path / "out").exists()
