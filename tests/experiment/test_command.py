"""From arguments to cells: presets, studies and their filters, settings of environments, simulated time."""

from pathlib import Path

import pytest
import tomli_w

from erlbench.errors import UsageError
from erlbench.experiment.costs import Costs
from tests.experiment.requested import cells_of
from tests.tables import cells


def test_a_preset_holds_for_the_algorithms_without_their_own_and_below_what_was_typed():
    cells = cells_of(algo=("cem,cem@default", "cem"), env=("Hopper-v5",), preset="no-extra-division")
    assert [cell.name for cell in cells] == ["cem@no-extra-division", "cem"]
    [cell] = cells_of(algo=("p-cem-rl@code",), env=("Hopper-v5",), set=("tau_cem=0.95",))  # which is the default
    assert cell.settings.tau_cem == 0.95
    assert cell.settings.batch_size == 256


WORKERS = """
cem-rl         | steady-state | 5
evorainbow-exp | steady-state | 5
cem-rl         | chain        | 0
cem-rl         | phases       | 0
p-cem-rl       | phases       | 5
aes-rl         | chain        | 5
aes-rl         | steady-state | 5
"""


@pytest.mark.parametrize(("algo", "schedule", "workers"), cells(WORKERS))
def test_a_schedule_without_generations_has_workers_whoever_has_it(algo, schedule, workers):
    given = {"algo": (algo,), "env": ("Hopper-v5",), "set": (f"schedule={schedule}",)}
    [cell] = cells_of(**given)
    assert cell.workers == int(workers)
    if cell.workers:
        [cell] = cells_of(**given, workers=2)
        assert cell.workers == 2


def test_a_study_with_filters():
    cells = cells_of(study=("aes-rl-table-1,aes-rl-figure-3",), profile="paper", env=("Hopper-v5@paper",))
    names = {cell.name for cell in cells}
    assert names == {"cem-rl", "p-cem-rl-b256@barriers", "p-cem-rl-b256", "aes-rl", "aes-rl@fixed-ratio", "aes-rl@w9"}
    assert len(cells) == 60  # ten seeds; figure 3 has three of them
    assert {cell.out for cell in cells} == {Path("results/paper")}
    [cell] = cells_of(
        study=("aes-rl-table-1",), env=("Hopper-v5@paper",), algo=("aes-rl",), out="here", set=("tau=0.1",)
    )
    assert cell.directory == Path("here/Hopper-v5@paper/aes-rl/seed-000")
    assert (cell.settings.tau, cell.settings.start_timesteps) == (0.1, 1000)


def test_a_written_configuration_asks_for_the_same_cell(tmp_path):
    given = {
        "algo": ("cem",),
        "env": ("Hopper-v5@v5,Hopper-v5,Hopper-v5@paper",),
        "seeds": "3,",
        "set": ("hidden=8-8",),
    }
    plain, cell = cells_of(**given, env_set=("frame_skip=2", "healthy_z_range=[0.6, 2]"))
    assert plain.env == "Hopper-v5"
    assert cell.env == "Hopper-v5@paper"
    assert cell.directory.name == "seed-003"
    assert cell.config()["env_settings"] == {"frame_skip": 2, "healthy_z_range": [0.6, 2]}
    path = tmp_path / "config.toml"
    path.write_text(tomli_w.dumps(cell.config()))
    assert cells_of(config=str(path)) == [cell]
    assert cells_of(config=str(path), seeds="4,")[0].directory.name == "seed-004"


def test_measured_costs_of_simulated_time_are_those_of_the_file_and_stand_in_the_configuration(tmp_path):
    costs = Costs(timestep=1e-3, critic_update=2e-3, actor_update=3e-3, overhead=4e-3, source="this test")
    (tmp_path / "costs.toml").write_text(tomli_w.dumps({"costs": vars(costs), "machine": {"cores": 4}}))
    modelled = {"costs": str(tmp_path / "costs.toml"), "simulated_processes": "64", "simulated_critic": "shared"}
    [cell] = cells_of(algo=("aes-rl",), env=("Hopper-v5",), simulated_time=True, **modelled)
    assert cell.costs == costs
    assert cell.simulated_processes == 64
    assert cell.simulated_critic == "shared"
    assert cell.config()["costs"]["source"] == "this test"
    for name, value in (*modelled.items(), ("simulated_critic", "own")):
        with pytest.raises(UsageError, match="give --simulated-time, too"):
            cells_of(algo=("aes-rl",), env=("Hopper-v5",), **{name: value})
