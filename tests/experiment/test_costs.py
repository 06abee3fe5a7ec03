"""Costs of simulated time: what their file may hold, and that a run's times are made of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tomli_w

from erlbench.errors import UsageError
from erlbench.experiment.costs import BILLION, Costs, load_costs
from tests.runs import make_cell, run

TRUE = Costs(
    timestep=2e-4, critic_update=5e-3, actor_update=3e-3, overhead=1.5e-3, source="here", crowding=1.6, cores=4,
    update=0.02,
)  # fmt: skip


def test_crowding_grows_up_to_all_cores_of_the_machine():
    assert TRUE.slowed(1) == BILLION
    assert TRUE.slowed(3) == 1_400_000_000
    assert TRUE.slowed(4) == TRUE.slowed(64) == 1_600_000_000
    assert replace(TRUE, cores=1).slowed(3) == BILLION


def test_a_file_gives_the_costs_and_a_mistake_in_it_is_named(tmp_path):
    path = tmp_path / "costs.toml"
    path.write_text(tomli_w.dumps({"costs": vars(TRUE), "machine": {"cores": 4}}))
    assert load_costs(path) == TRUE
    path.write_text(path.read_text().replace("timestep = 0.0002", "timestep = -1"))
    with pytest.raises(UsageError, match="'timestep' must be seconds"):
        load_costs(path)
    with pytest.raises(UsageError, match="cannot be read"):
        load_costs(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'timestep' is missing"),
        ("[costs]\ntimestep = 1e-4", "line 1: 'critic_update' is missing"),
        ("[costs]\ntimestep = 1e-4\ncritic_updat = 1", "critic_updat"),
        (
            "[costs]\ntimestep = 1e-4\ncritic_update = 0\nactor_update = 0\noverhead = 0\ncrowding = 0",
            "'crowding' must be at",
        ),
    ],
)
def test_a_file_that_lacks_costs_is_refused(tmp_path, text, message):
    (tmp_path / "costs.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        load_costs(tmp_path / "costs.toml")


def test_simulated_time_repeats_to_the_bit_and_uses_the_costs(tmp_path):
    costs = Costs(timestep=1e-3, critic_update=0.0, actor_update=0.0, overhead=0.0, source="test")
    cells = [
        make_cell(
            "cem", tmp_path / str(number), simulated_time=True, simulated_processes=processes, costs=costs,
            settings={"population": 10},
        ) for number, processes in enumerate((1, 1, 64))
    ]  # fmt: skip
    assert run(*cells, processes=0) == 0
    found = [(cell.directory / "tasks.csv").read_text() for cell in cells]
    modelled = [[line.rpartition(",")[0] for line in text.splitlines()] for text in found]  # then real processor time
    assert modelled[0] == modelled[1]
    lines = [line.split(",") for line in found[2].splitlines()[1:] if ",evaluation," not in line]
    first = [line for line in lines if float(line[4]) == 0.0]
    assert len(first) == 10  # all individuals of a generation at once
    for line in lines:
        assert float(line[5]) - float(line[4]) == pytest.approx(int(line[6]) * 1e-3)
    config = (cells[2].directory / "config.toml").read_text()
    assert "simulated_processes = 64" in config
    assert 'source = "test"' in config
