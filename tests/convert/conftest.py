"""The user whose name no bundle has."""

import platform
import tempfile

import pytest
from multiprocess import util


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The user alice on bigbox.lab, whose home folder is not below /home."""
    util.get_temp_dir()  # that of the sockets of processes, for the life of this one: below the usual folder
    folder = tmp_path / "people/alice"
    folder.mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    for name in ("LOGNAME", "USER"):
        monkeypatch.setenv(name, "alice")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(platform, "node", lambda: "bigbox.lab")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return folder
