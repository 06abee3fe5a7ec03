"""Runs with a study's name and budget, but not with the settings of its cells."""

from __future__ import annotations

import pytest

from erlbench.algorithms.aes_rl import AESRLSettings
from erlbench.experiment.study import Entry
from erlbench.reporting import build_report
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study


def report(tmp_path, settings, kind="scores", change=None, tasks=(), **study):
    """The text of a study's page whose AES-RL runs have these settings in config.toml; `change`: others by seed."""
    for seed in range(3):
        make_run(tmp_path / "runs", "HalfCheetah-v5", "cem-rl", seed, [0, 1, 2], studies=["study"])
        folder = make_run(
            tmp_path / "runs", "HalfCheetah-v5", "aes-rl", seed, [0, 1, 2], studies=["study"], tasks=tasks
        )
        config = folder / "config.toml"
        changed = (change or {}).get(seed, settings)
        config.write_text(config.read_text().replace("initial_variance = 0.001\n", changed))
    build_report([tmp_path / "runs"], tmp_path / "out", {"study": make_study(kind, **study)}, "short")
    return (tmp_path / "out" / "study" / "index.md").read_text().replace("\\", "")


@pytest.mark.parametrize("kind", ["scores", "time"])
def test_other_settings_are_named_beside_the_published_numbers(tmp_path, kind):
    """As `erlbench run --study ... --set hidden=32-32` leaves them, or a version with other defaults."""
    text = report(tmp_path, "hidden = [32, 32]\nbatch_size = 64\ntau = 0.005\n", kind)
    words = "AES-RL on HalfCheetah-v5 (hidden 32-32, not 400-300; batch_size 64, not 256)"
    assert f"OTHER SETTINGS than the study's: {words}." in text


@pytest.mark.parametrize("settings", ["", "hidden = [400, 300]\nbatch_size = 256\n", "gone_since = 3\n"])
def test_equal_settings_and_those_of_other_versions_are_not(tmp_path, settings):
    assert "OTHER SETTINGS" not in report(tmp_path, settings)


def test_settings_that_the_study_gives_are_the_cells(tmp_path):
    entries = (Entry("cem-rl", "cem-rl"), Entry("aes-rl", "aes-rl", workers=5, settings={"batch_size": 64}))
    text = report(tmp_path, "batch_size = 64\nhidden = [32, 32]\n", entries=entries)
    assert "aes-rl on HalfCheetah-v5 (hidden 32-32, not 400-300)." in text


def test_an_algorithm_that_is_not_installed_is_not_compared(tmp_path):
    entries = (Entry("cem-rl", "cem-rl"), Entry("aes-rl", "of-a-plugin", workers=5))
    assert "hidden 32-32" not in report(tmp_path, "hidden = [32, 32]\n", entries=entries)


def test_another_algorithm_under_the_name_of_the_entry_is_named(tmp_path):
    text = report(tmp_path, "", entries=(Entry("cem-rl", "cem-rl"), Entry("aes-rl", "erl", workers=5)))
    assert "aes-rl on HalfCheetah-v5 (algo aes-rl, not erl)" in text


def test_no_code_of_others_is_run(tmp_path, monkeypatch):
    """A plug-in may fail when it is imported; a settings class may ask a package that fails."""

    def broken(self):
        raise RuntimeError("no licence")

    (tmp_path / "a_plugin.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(AESRLSettings, "__post_init__", broken, raising=False)
    entries = (Entry("cem-rl", "a_plugin:Search"), Entry("aes-rl", "aes-rl", workers=5))
    text = report(tmp_path, "hidden = [32, 32]\n", entries=entries)
    assert "aes-rl on HalfCheetah-v5 (hidden 32-32, not 400-300)" in text


def test_the_use_of_processes_names_them(tmp_path):
    text = report(tmp_path, "hidden = [32, 32]\n", "timeline", tasks=[("es", 0, 0.0, 1.0, 0)])
    assert text.count("OTHER SETTINGS than the study's") == 1
