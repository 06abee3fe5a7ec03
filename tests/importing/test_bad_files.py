"""Damaged, foreign, huge and hostile files: one line, exit code 2, nothing written, nothing executed."""

import importlib.util
import os
import pickle
import shutil
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.calls import call, refuse

DATA = Path(__file__).parent / "data"
NPZ = DATA / "sb3/ppo/Pendulum-v1_1/evaluations.npz"
(EVENTS,) = (DATA / "cleanrl/Pendulum-v1__ppo_continuous_action__1__1795658158").iterdir()


WHOSE = ["--env", "A-v1", "--algo", "x", "--seed", "0"]
MONITOR = '#{"t_start": 0.0, "env_id": "A-v1"}\nr,l,t\n'
HEAD = "env,algo,seed,step,return\n"


def convert(path, out, *more):
    return call("convert", path, "--origin", "me", "--out", out, *more)


@pytest.fixture
def refused(tmp_path):
    """The one line with which a file of the folder is refused; nothing lies in the results."""

    def check(name):
        line = refuse("", "convert", tmp_path / name, "--origin", "me", "--out", tmp_path / "results", *WHOSE)
        assert not (tmp_path / "results").exists()
        return line

    return check


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


def test_objects_in_an_archive_are_not_loaded(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evaluations.npz"
    np.savez(path, timesteps=np.array([1, 2]), results=np.array([[Evil()], [Evil()]], object))
    refused(path)
    path.write_bytes(pickle.dumps(Evil()))
    refused(path)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("changes", [
    {"results": None}, {"results": [[1.0]]}, {"timesteps": [-1, 1]}, {"results": [[1.0], [np.nan]]},
    {"results": [1.0, 2.0]}, {"timesteps": [], "results": np.zeros((0, 3))}, {"ep_lengths": [[-1], [2]]},
])  # fmt: skip
def test_arrays_that_are_no_evaluations_are_refused(refused, tmp_path, changes):
    arrays = {"timesteps": [1, 2], "results": [[1.0], [2.0]]} | changes
    np.savez(tmp_path / "evaluations.npz", **{name: value for name, value in arrays.items() if value is not None})
    refused("evaluations.npz")


@pytest.mark.parametrize("text", [
    "#{\nr,l,t\n1,1,1\n", MONITOR, MONITOR + "1,2\n",
    MONITOR + "nan,2,3\n", MONITOR + "1,1e18,3\n", MONITOR + "1,0,3\n",
    MONITOR + "1_0,2,3\n", MONITOR + '1,2,"3\n', MONITOR.replace("r,l,t", "r,l") + "1,2\n",
    MONITOR.replace("0.0", "1e999") + "1,2,3\n", "#" + "[" * 100_000 + "\nr,l,t\n1,2,3\n",
    MONITOR + "1," + "2" * 200_000 + ",3\n", MONITOR.replace("A-v1", "../../etc") + "1,2,3\n",
])  # fmt: skip
def test_a_monitor_file_that_is_none_is_refused(refused, tmp_path, text):
    (tmp_path / "monitor.csv").write_text(text)
    refused("monitor.csv")


def test_monitor_files_without_their_clocks_are_not_merged(refused, tmp_path):
    (tmp_path / "logs").mkdir()
    for number, text in enumerate((MONITOR, MONITOR.partition("\n")[2])):
        (tmp_path / f"logs/{number}.monitor.csv").write_text(text + "1,10,0.5\n")
    assert "1.monitor.csv" in refused("logs")


@pytest.mark.parametrize("row", ["3.0,1", "3.0,10,0.5"])
def test_a_monitor_file_that_is_still_written_ends_with_its_last_whole_row(tmp_path, row):
    (tmp_path / "monitor.csv").write_text(MONITOR + "1.0,10,0.1\n2.0,10,0.3\n" + row)
    result = convert(tmp_path / "monitor.csv", tmp_path / "results", *WHOSE)
    assert result.exit_code == 0
    assert "ends within a row" in result.stderr
    (path,) = (tmp_path / "results").rglob("eval.csv")
    assert path.read_text().splitlines()[-1].split(",")[2] == "20"


@pytest.mark.parametrize("text", [
    HEAD, "env,algo,seed,step\nA-v1,x,0,1\n", HEAD + "A-v1,x,-1,1,1\n",
    HEAD + "A-v1,x,0,-1,1\n", HEAD + "../../x,x,0,1,1\n", HEAD + "A-v1,--out,0,1,1\n",
    HEAD + "A-v1,x,0,1e300,1\n", HEAD + "A-v1,x,0,1,1e308\n", HEAD + "A-v1,x,0,1,1,1\n", HEAD + "A-v1,x,0,1,\x001\n",
    "\udcff\udcfe",
])  # fmt: skip
def test_a_table_that_is_none_is_refused(refused, tmp_path, text):
    (tmp_path / "scores.csv").write_bytes(text.encode(errors="surrogateescape"))
    refused("scores.csv")


def test_a_column_that_stands_twice_is_not_taken_for_a_misspelt_one(refused, tmp_path):
    (tmp_path / "scores.csv").write_text(f"step,{HEAD}1,A-v1,x,0,1,1\n")
    assert refused("scores.csv").endswith("it has several columns step\n")


def test_an_archive_that_claims_or_unpacks_to_very_much_is_refused(refused, tmp_path):
    path = tmp_path / "evaluations.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(16)
    for data, reason in ((member, "no archive of arrays"), (bytes(300 * 2**20), "unpacks to more")):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("timesteps.npy", data)
            archive.writestr("results.npy", member)
        assert reason in refused(path)


def test_every_cut_and_many_damaged_bytes_of_an_archive_are_refused_or_read(refused, tmp_path):
    data, path, out = NPZ.read_bytes(), tmp_path / "evaluations.npz", tmp_path / "results"
    for length in range(0, len(data), 97):
        path.write_bytes(data[:length])
        refused(path)
    for place in range(0, len(data), 13):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        result = convert(path, out, *WHOSE)
        assert result.exit_code in (0, 2)
        assert "unexpected" not in result.stderr
        shutil.rmtree(out, ignore_errors=True)


def test_event_files_that_are_damaged_are_refused_and_one_that_is_cut_off_is_read(refused, tmp_path, monkeypatch):
    from torch.utils.tensorboard import SummaryWriter

    data, path = EVENTS.read_bytes(), tmp_path / "events.out.tfevents.1"
    path.write_bytes(data[: len(data) // 2])
    result = convert(path, tmp_path / "cut", *WHOSE)
    assert result.exit_code == 0
    assert "ends within a record" in result.stderr
    for other in (b"", bytes(1000), b"\xff" * 1000, data[:200] + b"\xff" + data[201:]):
        path.write_bytes(other)
        refused(path)
    with SummaryWriter(str(tmp_path / "logs")) as writer:
        writer.add_scalar("loss", 1.0, 1)
    assert "loss" in refused("logs")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "tensorboard" else find(name, *a))
    assert "erlbench[exports]" in refused(EVENTS)


def test_what_is_no_regular_file_is_refused(refused, tmp_path):
    os.mkfifo(tmp_path / "evaluations.npz")
    (tmp_path / "scores.csv").touch()
    os.truncate(tmp_path / "scores.csv", 2**30)
    (tmp_path / "empty").mkdir()
    (tmp_path / "thesis.pdf").write_bytes(b"%PDF")
    for name in ("evaluations.npz", "scores.csv", "not-there.csv", "empty", "thesis.pdf"):
        assert name in refused(name)


def test_nothing_is_written_behind_a_link_or_over_a_run(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    out = tmp_path / "results"
    out.mkdir()
    (out / "A-v1").symlink_to(tmp_path / "elsewhere")
    assert convert(NPZ, out, *WHOSE).exit_code == 2
    assert not list((tmp_path / "elsewhere").iterdir())
    (out / "A-v1").unlink()
    assert convert(NPZ, out, *WHOSE).exit_code == 0
    path = out / "A-v1/sb3-x/seed-000/eval.csv"
    before = path.read_bytes()
    assert convert(NPZ, out, *WHOSE).exit_code == 2
    assert path.read_bytes() == before


@pytest.mark.parametrize("more", ["--name=../x", "--layout={seed}/{seed}", "--seed=-1", "--returns=evaluation"])
def test_names_and_numbers_that_a_run_cannot_have_are_refused(tmp_path, more):
    result = convert(NPZ, tmp_path / "results", *([] if "layout" in more else WHOSE), more)
    assert result.exit_code == 2
    assert more.strip("-")[:4] in result.stderr
    assert not (tmp_path / "results").exists()
