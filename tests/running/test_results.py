"""The run directory: leases, settings that differ, old runs moved aside."""

import json
import os

import pytest

from erlbench.errors import UsageError
from erlbench.running.folder import RunFolder


def test_a_folder_that_cannot_be_made_is_a_usage_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is not a folder"):
        RunFolder(tmp_path / "file" / "a" / "b").check_parent()
    with pytest.raises(UsageError, match="cannot be written"):
        RunFolder(tmp_path / "file" / "a").hold()
    if os.geteuid():  # root may write everywhere
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(UsageError, match="is not writable"):
            RunFolder(tmp_path / "closed" / "a").check_parent()


def test_moving_aside_keeps_every_old_run(tmp_path):
    for number in (1, 2):
        (tmp_path / "seed-000").mkdir()
        assert RunFolder(tmp_path / "seed-000").move_aside() == tmp_path / f"seed-000.old-{number}"
    assert RunFolder(tmp_path / "seed-000").move_aside() is None


def test_a_configuration_that_is_no_toml_is_named(tmp_path):
    directory = RunFolder(tmp_path)
    assert directory.saved_config() is None
    directory.write_config({"run": {"env": "Hopper-v5"}, "settings": {"hidden": [400, 300]}})
    assert directory.saved_config() == {"run": {"env": "Hopper-v5"}, "settings": {"hidden": [400, 300]}}
    (tmp_path / "config.toml").write_text("run = [")
    with pytest.raises(UsageError, match=r"config\.toml cannot be read"):
        directory.saved_config()


def test_every_start_is_kept_in_meta(tmp_path):
    directory = RunFolder(tmp_path)
    directory.add_start({"cpu": "x"}, {"started": "one"})
    directory.add_start({"cpu": "y"}, {"started": "two"})
    text = (tmp_path / "meta.json").read_text()
    assert '"cpu": "y"' in text
    assert text.index('"started": "two"') < text.index('"started": "one"')
    directory.amend_meta(device="cpu")
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert (meta["device"], meta["starts"][-1]["device"]) == ("cpu", "cpu")
    assert "device" not in meta["starts"][0]


def test_a_renamed_checkpoint_is_none(tmp_path):
    (tmp_path / "checkpoint" / "000001.bak").mkdir(parents=True)
    assert not RunFolder(tmp_path).has_checkpoint()
    (tmp_path / "checkpoint" / "000002").mkdir()
    assert RunFolder(tmp_path).has_checkpoint()
