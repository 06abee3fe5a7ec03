"""`erlbench run --dry-run`: what it prints, and what it finds before anything starts."""

from erlbench.algorithms import registry
from erlbench.envs import catalogue
from tests.calls import call, refuse, succeed


def test_all_extras_that_a_study_needs_are_named_before_anything_starts(tmp_path, monkeypatch):
    absent = {"stable_baselines3", "dm_control", "Box2D"}
    known = registry.importlib.util.find_spec
    for where in (registry.importlib.util, catalogue):
        monkeypatch.setattr(where, "find_spec", lambda name: None if name in absent else known(name))
    words = ["run", "--study", "esac-table-1", "--profile", "paper", "--dry-run", "--out", tmp_path]
    refuse("pip install 'erlbench[ppo,box2d,dm-control]'\n", *words)
    refuse("'erlbench[ppo]'", *words, "--env", "Hopper-v5@paper")
    succeed(*words, "--env", "Hopper-v5@paper", "--algo", "esac")
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_shows_everything_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = succeed("run", "--algo", "aes-rl", "--env", "Hopper-v5,Walker2d-v5", "--dry-run")
    assert "Settings of aes-rl on Hopper-v5\n" in output
    # The paper's range differs.
    assert "aes-rl on Walker2d-v5: as above, but fitness_range=800.0, baseline=800.0\n" in output
    assert "results/Walker2d-v5/aes-rl/seed-000" in output
    for word in ("memory", "disk", "processes", "Nothing was run or written."):
        assert word in output
    assert list(tmp_path.iterdir()) == []
    assert "TD3's authors" in call("run", "--algo", "td3,cem", "--env", "HalfCheetah-v5", "--dry-run").stderr
