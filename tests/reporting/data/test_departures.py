"""Runs with a study's name and budget, but not with the settings of its cells."""

from __future__ import annotations

import pytest

from erlbench.algorithms.aes_rl import AESRLSettings
from erlbench.experiment.study import Entry
from tests.reporting.compare import read, write_report
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study

HIDDEN = "hidden = [32, 32]\n"
OTHER = "OTHER SETTINGS than the study's"


def entries(algo, **settings):
    return {"entries": (Entry("cem-rl", "cem-rl"), Entry("aes-rl", algo, workers=5, **settings))}


def report(tmp_path, settings, kind="scores", study=None):
    """The text of a study's page whose AES-RL runs have these settings in config.toml."""
    tasks = [("es", 0, 0.0, 1.0, 0)] if kind == "timeline" else ()
    for seed in range(3):
        make_run(tmp_path / "runs", "HalfCheetah-v5", "cem-rl", seed, [0, 1, 2], studies=["study"])
        run = make_run(tmp_path / "runs", "HalfCheetah-v5", "aes-rl", seed, [0, 1, 2], studies=["study"], tasks=tasks)
        config = run / "config.toml"
        config.write_text(config.read_text().replace("initial_variance = 0.001\n", settings))
    out = write_report(tmp_path / "runs", studies={"study": make_study(kind, **study or {})}, profile="short")
    return read(out / "study" / "index.md").replace("\\", "")


@pytest.mark.parametrize("kind", ["scores", "time", "timeline"])
def test_other_settings_are_named_beside_the_published_numbers(tmp_path, kind):
    """As `erlbench run --study ... --set hidden=32-32` leaves them, or a version with other defaults."""
    text = report(tmp_path, f"{HIDDEN}batch_size = 64\ntau = 0.005\n", kind)
    words = "AES-RL on HalfCheetah-v5 (hidden 32-32, not 400-300; batch_size 64, not 256)"
    assert text.count(f"{OTHER}: {words}.") == text.count(OTHER) == 1


@pytest.mark.parametrize(
    ("settings", "study", "departure"),
    [
        ("", {}, ""),
        ("hidden = [400, 300]\nbatch_size = 256\n", {}, ""),
        ("gone_since = 3\n", {}, ""),
        (f"{HIDDEN}batch_size = 64\n", entries("aes-rl", settings={"batch_size": 64}), "hidden 32-32, not 400-300"),
        ("", entries("erl"), "algo aes-rl, not erl"),
    ],
)
def test_what_is_a_departure(tmp_path, settings, study, departure):
    text = report(tmp_path, settings, study=study)
    assert f"aes-rl on HalfCheetah-v5 ({departure})." in text if departure else OTHER not in text


def test_no_code_of_others_is_run(tmp_path, monkeypatch):
    """A plug-in may fail when it is imported or not be there; a settings class may ask a package that fails."""

    def broken(self):
        raise RuntimeError("no licence")

    (tmp_path / "a_plugin.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(AESRLSettings, "__post_init__", broken, raising=False)
    algorithms = (Entry("cem-rl", "a_plugin:Search"), Entry("aes-rl", "aes-rl", workers=5))
    text = report(tmp_path / "broken", HIDDEN, study={"entries": algorithms})
    assert "aes-rl on HalfCheetah-v5 (hidden 32-32, not 400-300)" in text
    assert "hidden 32-32" not in report(tmp_path / "absent", HIDDEN, study=entries("of-a-plugin"))
