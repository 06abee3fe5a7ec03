"""Costs of simulated time: what their file may hold, and that a run's times are made of them."""

from dataclasses import replace

import pytest
import tomli_w

from erlbench.errors import UsageError
from erlbench.experiment.costs import BILLION, Costs, load_costs
from tests.files import edit

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
    edit(path, "timestep = 0.0002", "timestep = -1")
    with pytest.raises(UsageError, match="'timestep' must be seconds"):
        load_costs(path)
    with pytest.raises(UsageError, match="cannot be read"):
        load_costs(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
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
