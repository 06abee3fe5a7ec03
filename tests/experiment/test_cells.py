"""Cells: names, directories, configurations and what differs between two of them."""

import dataclasses
from pathlib import Path

from erlbench.experiment.cells import differences, entry_name, folder_name
from erlbench.experiment.costs import Costs
from erlbench.reporting.formats import slug
from tests.runs import make_cell

CELL = make_cell("td3", Path("results"), "Hopper-v5", seed=7)


def test_the_directory_is_named_after_environment_name_and_seed():
    assert CELL.directory == Path("results/Hopper-v5/td3/seed-007")
    assert dataclasses.replace(CELL, seed=1234).directory.name == "seed-1234"
    assert dataclasses.replace(CELL, env="my.module:Env/Walk-v0").directory == Path(
        "results/my.module_Env_Walk-v0/td3/seed-007"
    )
    assert entry_name("my_module:TD3", "original") == "TD3@original"
    names = "my:Größe", "my:Grüße", "my:長さ"
    assert (
        [folder_name(name) for name in names] == [slug(name) for name in names] == ["my_Größe", "my_Grüße", "my_長さ"]
    )
    assert slug("a__b:c/d e") == "a_b_c_d_e"


def test_differences_are_named():
    other = make_cell("td3", Path("results"), "Hopper-v5", 2000, seed=7, settings={"tau": 0.01})
    assert differences(CELL.config(), other.config()) == [
        "run.total_timesteps: 1000 there, 2000 now",
        "settings.tau: 0.005 there, 0.01 now",
    ]
    assert differences(CELL.config(), dataclasses.replace(CELL, processes=3, out=Path("elsewhere")).config()) == []
    assert differences({}, {"run": {"seed": 1}}) == ["run.seed: not set there, 1 now"]
    assert differences({"settings": {"old": 1}}, {}) == ["settings.old: 1 there, not set now"]
    assert differences({"run": 3}, {"run": {}}) == []


def test_costs_of_earlier_runs_with_all_digits_and_without_later_ones_are_no_difference():
    """A file with all digits gives the same whole nanoseconds."""
    long = {"timestep": 7.210378607832741e-05, "critic_update": 0.008025755327237542, "crowding": 1.1038899914035232}
    costs = Costs(actor_update=0.0, overhead=0.0, cores=4, **long)
    now = dataclasses.replace(CELL, simulated_time=True, costs=costs).config()
    assert now["costs"]["critic_update"] == 0.008025755
    assert now["costs"]["crowding"] == 1.103889991
    assert Costs(**now["costs"]) == costs
    later = {"spread", "gradient_overhead"}
    before = {key: value for key, value in now["costs"].items() if key not in later} | long
    assert differences({**now, "costs": before}, now) == []
    (line,) = differences({**now, "costs": before | {"timestep": 1.0}}, now)
    assert line == "costs.timestep: 1.0 there, 7.2104e-05 now"
