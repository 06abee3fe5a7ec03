"""Damaged, foreign, huge and hostile files: one line, exit code 2, nothing written, nothing executed."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from erlbench.cli import cli

DATA = Path(__file__).parent / "data"
NPZ = DATA / "sb3/ppo/Pendulum-v1_1/evaluations.npz"
(EVENTS,) = (DATA / "cleanrl/Pendulum-v1__ppo_continuous_action__1__1795658158").iterdir()


def refused(folder: Path, path: Path, *more: str) -> str:
    """The one line with which the file is refused; nothing lies in the results."""
    out = folder / "results"
    said = ["--env", "A-v1", "--algo", "x", "--seed", "0", *more]
    result = CliRunner().invoke(cli, ["convert", str(path), "--origin", "me", "--out", str(out), *said])
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    assert not out.exists()
    return result.stderr


def saved(path: Path, **arrays: object) -> Path:
    np.savez(path, **arrays)
    return path


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


def test_objects_in_an_archive_are_not_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = np.array([1, 2])
    path = saved(tmp_path / "evaluations.npz", timesteps=steps, results=np.array([[Evil()], [Evil()]], object))
    assert "Object arrays cannot be loaded" in refused(tmp_path, path)
    path.write_bytes(pickle.dumps(Evil()))
    refused(tmp_path, path)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("arrays", [
    {"timesteps": [1, 2]},
    {"timesteps": [1, 2], "results": [[1.0]]},
    {"timesteps": [-1, 1], "results": [[1.0], [2.0]]},
    {"timesteps": [0.5, 1], "results": [[1.0], [2.0]]},
    {"timesteps": [1, 2], "results": [[1.0], [np.nan]]},
    {"timesteps": [1, 2], "results": [[1.0], [np.inf]]},
    {"timesteps": [1, 2], "results": [1.0, 2.0]},
    {"timesteps": [], "results": np.zeros((0, 3))},
    {"timesteps": [1, 2], "results": [["a"], ["b"]]},
    {"timesteps": [1, 2], "results": [[1.0], [2.0]], "ep_lengths": [[1]]},
    {"timesteps": [1, 2], "results": [[1.0], [2.0]], "ep_lengths": [[-1], [2]]},
    {"timesteps": [1, 2], "results": [[1.0], [2.0]], "ep_lengths": [[2**62], [2]]},
    {"timesteps": [2**53, 2**53], "results": [[1.0], [2.0]]},
    {"timesteps": [1, 2], "results": np.array([[1j], [2.0]])},
])  # fmt: skip
def test_arrays_that_are_no_evaluations_are_refused(tmp_path, arrays):
    refused(tmp_path, saved(tmp_path / "evaluations.npz", **{name: np.array(a) for name, a in arrays.items()}))


def test_a_header_that_claims_more_than_the_file_has_is_refused(tmp_path):
    path = tmp_path / "evaluations.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    header += b" " * (118 - len(header)) + b"\n"
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(16)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("timesteps.npy", member)
        archive.writestr("results.npy", member)
    assert "no archive of arrays" in refused(tmp_path, path)


def test_an_archive_that_unpacks_to_very_much_is_refused(tmp_path):
    path = tmp_path / "evaluations.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("timesteps.npy", "w", force_zip64=True) as member:
            for _ in range(300):
                member.write(bytes(2**20))
        archive.writestr("results.npy", b"")
    assert path.stat().st_size < 2**20
    assert "unpacks to more" in refused(tmp_path, path)


def test_every_cut_and_many_damaged_bytes_of_an_archive_are_refused_or_read(tmp_path):
    data, path, out = NPZ.read_bytes(), tmp_path / "evaluations.npz", tmp_path / "results"
    command = ["convert", str(path), "--origin", "me", "--env", "A-v1", "--algo", "x", "--seed", "0", "--out", str(out)]
    for length in range(0, len(data), 97):
        path.write_bytes(data[:length])
        refused(tmp_path, path)
    for place in range(0, len(data), 13):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        result = CliRunner().invoke(cli, command)
        assert result.exit_code in (0, 2)
        assert "unexpected" not in result.stderr
        if result.exit_code == 0:
            __import__("shutil").rmtree(out)


MONITOR = '#{"t_start": 0.0, "env_id": "A-v1"}\nr,l,t\n'


@pytest.mark.parametrize("text", [
    "", "#", "#[]\nr,l,t\n1,1,1\n", "#{\nr,l,t\n1,1,1\n", MONITOR, MONITOR + "1,2\n", MONITOR + "1,2,3,4\n",
    MONITOR + "a,2,3\n", MONITOR + "nan,2,3\n", MONITOR + "inf,2,3\n", MONITOR + "1,2,inf\n", MONITOR + "1,1e18,3\n",
    MONITOR + "1,0,3\n", MONITOR + "1,2.5,3\n",
    MONITOR + "1_0,2,3\n", MONITOR + '1,2,"3\n', MONITOR.replace("r,l,t", "r,l") + "1,2\n",
    '#{"t_start": 1e999, "env_id": "A-v1"}\nr,l,t\n1,2,3\n', "#" + "[" * 100_000 + "\nr,l,t\n1,2,3\n",
    MONITOR + "1," + "2" * 200_000 + ",3\n", MONITOR.replace("A-v1", "../../etc") + "1,2,3\n",
])  # fmt: skip
def test_a_monitor_file_that_is_none_is_refused(tmp_path, text):
    path = tmp_path / "monitor.csv"
    path.write_text(text)
    refused(tmp_path, path)


HEAD = "env,algo,seed,step,return\n"


@pytest.mark.parametrize("text", [
    HEAD, "env,algo,seed,step\nA-v1,x,0,1\n", HEAD + "A-v1,x,-1,1,1\n", HEAD + "A-v1,x,0.5,1,1\n",
    HEAD + "A-v1,x,0,-1,1\n", HEAD + "A-v1,x,0,1,none\n", HEAD + "A-v1,x,0,1,\n",
    HEAD + "../../x,x,0,1,1\n", HEAD + "A-v1,../x,0,1,1\n", HEAD + "A-v1,x,0,1e300,1\n", HEAD + "A-v1,x,1e300,1,1\n",
    HEAD + "A-v1,x,0,1,1,1\n", "\x00\x01\x02", HEAD + "A-v1,x,0,1,\x001\n", HEAD + "A-v1,--out,0,1,1\n",
])  # fmt: skip
def test_a_table_that_is_none_is_refused(tmp_path, text):
    path = tmp_path / "scores.csv"
    path.write_bytes(text.encode())
    refused(tmp_path, path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_bytes(b"\xff\xfe" + HEAD.encode("utf-16-le"))
    refused(tmp_path, path)


def test_event_files_that_are_damaged_are_refused_and_one_that_is_cut_off_is_read(tmp_path):
    data, path = EVENTS.read_bytes(), tmp_path / "events.out.tfevents.1"
    said = ["--env", "A-v1", "--algo", "x", "--seed", "0"]
    path.write_bytes(data[: len(data) // 2])
    result = CliRunner().invoke(cli, ["convert", str(path), "--origin", "me", "--out", str(tmp_path / "cut"), *said])
    assert result.exit_code == 0
    assert "ends within a record" in result.stderr
    for place in (3, 9, 200, len(data) // 2):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        refused(tmp_path, path)
    for other in (b"", b"x", bytes(1000), b"\xff" * 1000):
        path.write_bytes(other)
        refused(tmp_path, path)


def test_an_event_file_of_another_program_says_what_it_has(tmp_path):
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(tmp_path / "logs"))
    writer.add_scalar("loss", 1.0, 1)
    writer.close()
    assert "loss" in refused(tmp_path, tmp_path / "logs")


def test_what_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "evaluations.npz")
    refused(tmp_path, tmp_path / "evaluations.npz")
    with open(tmp_path / "scores.csv", "wb") as file:
        file.truncate(2**30)
    assert "larger than" in refused(tmp_path, tmp_path / "scores.csv")
    refused(tmp_path, tmp_path / "not-there.csv")
    (tmp_path / "empty").mkdir()
    refused(tmp_path, tmp_path / "empty")
    (tmp_path / "thesis.pdf").write_bytes(b"%PDF")
    refused(tmp_path, tmp_path / "thesis.pdf")


def test_nothing_is_written_behind_a_link_or_over_a_run(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    out = tmp_path / "results"
    out.mkdir()
    (out / "A-v1").symlink_to(tmp_path / "elsewhere")
    command = ["convert", str(NPZ), "--origin", "me", "--env", "A-v1", "--algo", "x", "--seed", "0", "--out", str(out)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 2
    assert not list((tmp_path / "elsewhere").iterdir())
    (out / "A-v1").unlink()
    assert CliRunner().invoke(cli, command).exit_code == 0
    before = (out / "A-v1/sb3-x/seed-000/eval.csv").read_bytes()
    assert CliRunner().invoke(cli, command).exit_code == 2
    assert (out / "A-v1/sb3-x/seed-000/eval.csv").read_bytes() == before


@pytest.mark.parametrize(("more", "word"), [
    (["--name", "td3"], "td3"),
    (["--name", "../x"], "name"),
    (["--layout", "{seed}/{seed}"], "twice"),
    (["--origin", "a\x1b[2Jb"], "one line"),
    (["--origin", "a\nb"], "one line"),
    (["--seed=-1"], "at least 0"),
    ([f"--seed={10**10}"], "at most"),
    (["--total-timesteps=0"], "at least 1"),
    (["--returns=evaluation"], "evaluations"),
])  # fmt: skip
def test_names_and_numbers_that_a_run_cannot_have_are_refused(tmp_path, more, word):
    out = tmp_path / "results"
    usual = [] if "--layout" in more else ["--env", "A-v1", "--algo", "x", "--seed", "0"]
    command = ["convert", str(NPZ), "--origin", "me", "--out", str(out), *usual, *more]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 2
    assert word in result.stderr
    assert not out.exists()


def test_without_tensorboard_the_message_says_what_to_install(tmp_path, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "tensorboard" else find(name, *a))
    assert "erlbench[exports]" in refused(tmp_path, EVENTS)
