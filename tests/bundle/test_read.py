"""A bundle is anybody's file: whatever it says, nothing leaves its folder, and the folder goes."""

from __future__ import annotations

import json
import os
import re
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from erlbench.bundle import contents, read
from erlbench.bundle.contents import MANIFEST
from erlbench.bundle.redact import Redactor
from erlbench.bundle.write import write_bundle
from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.files import Unusable
from erlbench.verification import load_files
from erlbench.verification.files import check_files
from erlbench.verification.rows import check_rows
from erlbench.work.private import private_folders
from tests.reporting.make_runs import make_run
from tests.users import FIRST, as_user, everybodys, needs_root

__all__ = ["everybodys"]
RUN = "mine/Foo-v5/cem/seed-000"


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_run(tmp_path / "mine", "Foo-v5", "cem", 0, [0, 10])
    target = tmp_path / "x.zip"
    write_bundle([tmp_path / "mine"], target, lambda _: None, Redactor())
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return target


def again(
    bundle: Path, change: Callable[[dict[str, bytes]], None] = lambda files: None,
    entry: Callable[[zipfile.ZipInfo], None] = lambda entry: None, more: Any = (), manifest: bool = True,
) -> None:  # fmt: skip
    """Write a bundle anew with other files, entries and `more` (entry, data), and a manifest that fits."""
    import hashlib

    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    if manifest and MANIFEST in files:
        sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != MANIFEST}
        files[MANIFEST] = json.dumps({**json.loads(files[MANIFEST]), "files": sums}).encode()
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            entry(info)
            archive.writestr(info, data)
        for info, data in more:
            archive.writestr(info, data)


def refused(bundle: Path) -> str:
    """What is said of a bundle that is refused; nothing of it stays, inside or outside."""
    home = bundle.parent
    before = sorted(str(path) for path in home.rglob("*") if "tmp" not in path.relative_to(home).parts[:1])
    with pytest.raises(UsageError) as found, read.opened([bundle]):
        pass
    after = sorted(str(path) for path in home.rglob("*") if "tmp" not in path.relative_to(home).parts[:1])
    assert after == before
    assert [path for folder in private_folders(home / "tmp") for path in folder.iterdir()] == []
    assert "\n" not in str(found.value)
    assert str(bundle) in str(found.value)
    return str(found.value)


def named(name: str) -> Callable[[dict[str, bytes]], None]:
    return lambda files: files.__setitem__(name, b"x")


NAMES = (
    "../evil", f"{RUN}/../../../../evil", "/etc/passwd", f"/{RUN}/eval.csv", "C:/evil", "mine\\..\\evil", f"{RUN}//x",
    "./mine/plan.toml", "mine/./plan.toml", "~/x", f"{RUN}/evil.py", f"{RUN}/policies/../eval.csv", "erlbench.py",
    f"{RUN}/policies/x.safetensors", f"{RUN}/checkpoint/000001/state.json", f"{RUN}/lock", f"{RUN}/study.zip",
    "mine/Foo-v5/cem/seed-0x0/eval.csv", f"{RUN}/eval.csv\x00.py", f"{RUN}/\x1b[2J", "con/plan.toml", "aux.d/plan.toml",
    "mine /plan.toml", "mine./plan.toml", f"{'a/' * 20}plan.toml", f"{'a' * 300}/plan.toml", "plan.toml", "",
    f"{RUN}.old-1/policy.safetensors", "mine/\u202eplan.toml", "mine/-rf/plan.toml", ".hidden/plan.toml",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_run_has_is_refused(bundle, name):
    with pytest.raises(Unusable):
        contents.check_entry(name)
    again(bundle, named(name))
    assert refused(bundle)


def test_what_a_run_has_is_taken():
    for name in (
        MANIFEST, "mine/plan.toml", "mine/journal.jsonl", f"{RUN}/eval.csv", f"{RUN}/policies/000012.safetensors",
        "a/b/dm_control_walker-walk-v0@x/td3+same/seed-1234567890/config.toml", f"{RUN}.old-3/status.json",
    ):  # fmt: skip
        contents.check_entry(name)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR, stat.S_IFSOCK])
def test_only_regular_files_are_taken(bundle, kind):
    def change(entry: zipfile.ZipInfo) -> None:
        if entry.filename.endswith("tasks.csv"):
            entry.external_attr = (kind | 0o777) << 16

    again(bundle, lambda files: files.__setitem__(f"{RUN}/tasks.csv", b"/etc/passwd"), change)
    assert "no regular file" in refused(bundle)


@pytest.mark.parametrize("name", [f"{RUN}/eval.csv", f"{RUN}/EVAL.csv", f"{RUN}/Eval.CSV"])
def test_a_file_that_is_there_twice_is_refused(bundle, name):
    again(bundle, more=[(zipfile.ZipInfo(name), b"x")])
    assert refused(bundle)


def test_names_that_are_one_file_elsewhere_are_refused():
    with pytest.raises(Unusable, match="twice"):
        contents.check_entries(["Mine/plan.toml", "mine/plan.toml"])
    with pytest.raises(Unusable, match="twice"):
        contents.check_entries(["min\u212a/plan.toml", "mink/plan.toml"])


def test_a_bomb_is_refused_by_what_it_says(bundle):
    again(bundle, lambda files: files.__setitem__(f"{RUN}/tasks.csv", bytes(64 << 20)))
    assert bundle.stat().st_size < 1 << 20
    assert "times as large" in refused(bundle)


def edit_entry(bundle: Path, name: str, offset: int, value: bytes, local: int | None = None) -> None:
    """Edit the bytes at `offset` of an entry of the list of files, and at `local` of its own header."""
    data = bytearray(bundle.read_bytes())
    at = data.rindex(name.encode()) - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    data[at + offset : at + offset + len(value)] = value
    if local is not None:
        at = data.index(name.encode()) - 30
        data[at + local : at + local + len(value)] = value
    bundle.write_bytes(data)


def test_a_bomb_that_lies_is_stopped_at_the_size_that_it_says(bundle, monkeypatch):
    written: list[int] = []
    plain = read._write
    monkeypatch.setattr(read, "RATIO", 10**9)
    monkeypatch.setattr(
        read, "_write", lambda archive, entry, target: written.append(0) or plain(archive, entry, target)
    )
    again(bundle, lambda files: files.__setitem__(f"{RUN}/tasks.csv", bytes(8 << 20)))
    edit_entry(bundle, f"{RUN}/tasks.csv", 24, struct.pack("<L", 1000), local=22)
    assert refused(bundle)
    assert written  # it was begun, and stopped
    assert not list(bundle.parent.rglob("tmp/*/*"))


@pytest.mark.parametrize(
    ("offset", "value", "said"),
    [
        (8, struct.pack("<H", 0x1), "encrypted"),
        (8, struct.pack("<H", 0x41), "encrypted"),
        (10, struct.pack("<H", zipfile.ZIP_LZMA), "compressed in another way"),
        (10, struct.pack("<H", 99), "compressed in another way"),
        (24, struct.pack("<L", 0xF0000000), "larger than 1024 MiB"),
        (20, struct.pack("<L", 0x7FFFFFFF), "overlap"),
        (16, struct.pack("<L", 1), ""),  # another CRC-32
    ],
)
def test_what_an_entry_says_is_checked(bundle, offset, value, said):
    edit_entry(bundle, f"{RUN}/eval.csv", offset, value, local=None)
    assert said in refused(bundle)


@pytest.mark.parametrize(
    ("offset", "value"),
    [(10, struct.pack("<H", 65_000)), (12, struct.pack("<L", 1 << 30)), (16, struct.pack("<L", 5)),
     (20, struct.pack("<H", 3)), (4, struct.pack("<H", 1))],
)  # fmt: skip
def test_the_end_of_the_file_is_checked_before_its_list_is_read(bundle, offset, value, monkeypatch):
    data = bytearray(bundle.read_bytes())
    at = len(data) - 22
    data[at + offset : at + offset + len(value)] = value
    bundle.write_bytes(data)
    monkeypatch.setattr(zipfile, "ZipFile", None)  # not reached
    refused(bundle)


def test_the_extension_for_large_files_is_refused(bundle):
    data = bundle.read_bytes()
    locator = b"PK\x06\x07" + struct.pack("<LQL", 0, 0, 1)
    bundle.write_bytes(data[:-22] + locator + data[-22:])
    refused(bundle)


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"PK\x05\x06" + bytes(18), b"<html>" * 100, os.urandom(3000), b"PK\x03\x04" + bytes(500)]
)
def test_what_is_no_zip_file_is_refused(bundle, data):
    bundle.write_bytes(data)
    refused(bundle)


def test_a_bundle_that_is_cut_off_or_damaged_is_refused(bundle):
    data = bundle.read_bytes()
    for stop in range(0, len(data), max(1, len(data) // 60)):
        bundle.write_bytes(data[:stop])
        refused(bundle)
    for at in range(0, len(data), max(1, len(data) // 60)):
        bundle.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            with read.opened([bundle]) as (folder,):
                assert (folder / "Foo-v5/cem/seed-000/eval.csv").is_file()  # a byte that says nothing
        except UsageError:
            pass


def test_a_bundle_that_was_changed_is_refused(bundle):
    again(bundle, lambda files: files.__setitem__(f"{RUN}/eval.csv", b"x"), manifest=False)
    assert f"{RUN}/eval.csv" in refused(bundle)
    again(bundle, lambda files: files.pop(f"{RUN}/eval.csv"), manifest=False)
    assert f"{RUN}/eval.csv" in refused(bundle)


@pytest.mark.parametrize(
    "manifest",
    [b"{}", b"[]", b'{"format": 99}', b'{"format": 1, "files": []}', b"[" * 100_000, b"\xff", b'{"format": 1}'],
)
def test_a_list_that_is_none_is_refused(bundle, manifest):
    again(bundle, lambda files: files.__setitem__(MANIFEST, manifest), manifest=False)
    refused(bundle)


def test_a_zip_file_of_a_folder_is_no_bundle(bundle):
    again(bundle, lambda files: files.pop(MANIFEST))
    assert "report --bundle" in refused(bundle)


def test_a_fifo_and_a_sparse_file_are_no_bundles(tmp_path, bundle):
    bundle.unlink()
    os.mkfifo(bundle)
    assert not read.is_bundle(bundle)  # so it is no folder either
    bundle.unlink()
    with bundle.open("wb") as file:
        file.truncate(5 << 30)
    assert "4 GiB" in refused(bundle)


@pytest.mark.parametrize("command", ["report", "verify", "compare"])
def test_a_hostile_bundle_is_one_line_of_every_command(bundle, command, tmp_path):
    again(bundle, named("../evil"))
    words = [str(bundle), *(["--out", str(tmp_path / "out")] if command != "verify" else [])]
    result = CliRunner().invoke(
        cli, [command, *words, *([str(bundle.parent / "mine")] if command == "compare" else [])]
    )
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_the_folder_is_private_and_goes(bundle):
    with read.opened([bundle]) as (folder,):
        assert folder.name == "mine"
        (home,) = private_folders(bundle.parent / "tmp")
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.rglob("*.csv"))
    assert [*home.iterdir()] == []


def test_the_folder_of_a_killed_process_goes_with_the_next_one(bundle):
    code = (
        "import os, signal, sys, tempfile; tempfile.tempdir = sys.argv[2]; from pathlib import Path; "
        "from erlbench.bundle.read import OpenBundle; bundle = OpenBundle(Path(sys.argv[1])); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, bundle, bundle.parent / "tmp"], check=False, timeout=60)
    (home,) = private_folders(bundle.parent / "tmp")
    assert len([*home.iterdir()]) == 1
    with read.opened([bundle]):
        assert len([*home.iterdir()]) == 1
    assert [*home.iterdir()] == []


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a short real run."""
    folder = tmp_path_factory.mktemp("trained")
    done = command(
        folder, "run", "--algo", "cem", "--env", "CartPole-v1", "--seeds", "1", "--quiet", "--total-timesteps", "600",
        "--eval-freq", "300", "--processes", "0", "--out", folder / "mine",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "mine"


def command(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "erlbench", *map(str, words)]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=300)


def outcomes(text: str) -> dict[str, str]:
    """What `verify -v` printed of each check."""
    found = re.findall(r"^(\w+) +(agrees|differs|cannot be verified) ", text, re.MULTILINE)
    assert found
    return dict(found)


def test_verify_finds_in_a_bundle_what_it_finds_in_the_folder(trained, tmp_path):
    write_bundle([trained], tmp_path / "x.zip", lambda _: None, Redactor(users={"erlbench"}))
    theirs, ours = (command(tmp_path, "verify", place, "-v") for place in (tmp_path / "x.zip", trained))
    assert (theirs.returncode, ours.returncode) == (0, 0), theirs.stdout
    found = outcomes(theirs.stdout)
    assert found.pop("checksums") == "cannot be verified"  # the command line says erlbench
    assert found | {"checksums": "agrees"} == outcomes(ours.stdout)
    assert found["policy"] == "agrees"


def test_an_edit_of_a_bundle_with_a_list_that_fits_is_found_by_verify(trained, tmp_path):
    write_bundle([trained], tmp_path / "x.zip", lambda _: None)
    name = "mine/CartPole-v1/cem/seed-000/eval.csv"
    again(tmp_path / "x.zip", lambda files: files.__setitem__(name, files[name].replace(b",0,", b",1,", 1)))
    assert outcomes(command(tmp_path, "verify", tmp_path / "x.zip", "-v").stdout)["checksums"] == "differs"


@needs_root
def test_another_user_reads_and_checks_a_bundle(trained, everybodys):
    """All checks that need no further process: that user may not be able to start Python here."""
    target = everybodys / "x.zip"
    write_bundle([trained], target, lambda _: None, Redactor(users={"erlbench"}))
    target.chmod(0o644)

    def checks() -> list[list[str]]:
        with read.opened([target]) as (folder,):
            run = load_files(folder / "CartPole-v1" / "cem" / "seed-000")
            return [[check.name, check.outcome] for check in (*check_files(run), *check_rows(run))]

    def checks_there() -> list[list[str]]:
        tempfile.tempdir = str(everybodys)
        with pytest.raises(PermissionError):
            (trained / "CartPole-v1" / "cem" / "seed-000" / "eval.csv").read_bytes()
        return checks()

    here = checks()  # it also imports all that is needed
    trained.chmod(0o700)
    assert as_user(FIRST, checks_there) == here
    assert {outcome for name, outcome in here if name != "checksums"} == {"agrees"}
    assert ["checksums", "cannot be verified"] in here
    assert [*(everybodys / f"erlbench-{FIRST}").iterdir()] == []
