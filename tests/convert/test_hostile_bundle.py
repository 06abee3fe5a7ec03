"""Bundles of strangers: a file of anybody is refused, or becomes a private folder with the files of runs alone."""

import os
import stat
import struct
import zipfile

import pytest

from erlbench import bundle
from erlbench.bundle import is_bundle, open_bundles, write_bundle
from erlbench.errors import UsageError
from tests.reporting.make_runs import make_run

pytestmark = pytest.mark.usefixtures("home")


RUN = "mine/Foo-v5/cem/seed-000"


@pytest.fixture
def packed(tmp_path):
    make_run(tmp_path / "mine", "Foo-v5", "cem", 0, [0, 10])
    write_bundle([tmp_path / "mine"], tmp_path / "x.zip")
    return tmp_path / "x.zip"


def rewrite(target, more=None, change=lambda entry: None):
    """Write a bundle anew with `more` files, each entry changed."""
    with zipfile.ZipFile(target) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (*files.items(), *(more or {}).items()):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            change(entry)
            archive.writestr(entry, data)


def refuse(target):
    """The message on a bundle that is refused; nothing of it stays, inside or outside."""
    before = sorted(map(str, target.parent.rglob("*")))
    with pytest.raises(UsageError) as error, open_bundles([target]):
        pass
    assert sorted(map(str, target.parent.rglob("*"))) == before
    assert "\n" not in str(error.value)
    assert str(target) in str(error.value)
    return str(error.value)


NAMES = (
    "../evil", f"{RUN}/../../../../evil", f"/{RUN}/eval.csv", "C:/evil", "mine\\..\\evil",
    f"{RUN}/evil.py", f"{RUN}/policies/../eval.csv", f"{RUN}/",
    f"{RUN}/checkpoint/000001/state.json", "mine/Foo-v5/cem/seed-0x0/eval.csv", f"{RUN}/eval.csv\x00.py",
    f"{RUN}/\x1b[2J", f"{'a/' * 20}seed-0/eval.csv", f"{'a' * 300}/seed-0/eval.csv",
    "mine/-rf/seed-0/eval.csv", ".hidden/seed-0/eval.csv", "mine/\u202e/seed-0/eval.csv", f"{RUN}/eval.csv\n",
    f"{RUN}/EVAL.csv", f"{RUN}/eval.csv",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_no_run_has_or_that_is_there_twice_is_refused(packed, name):
    rewrite(packed, {name: b"x"})
    refuse(packed)


def test_a_link_becomes_a_file_of_a_private_folder_that_goes(packed):
    def link(entry):
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16

    rewrite(packed, change=link)
    with open_bundles([packed]) as (folder,):
        assert [path for path in folder.rglob("*") if path.is_symlink()] == []
        assert stat.S_IMODE(folder.parents[1].stat().st_mode) == 0o700
    assert [*(packed.parent / "tmp").iterdir()] == []


def test_files_beyond_all_bounds_are_refused(packed, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_BYTES", 1000)
    rewrite(packed, {f"{RUN}/policies/1.safetensors": bytes(2000)})
    refuse(packed)
    monkeypatch.setattr(bundle, "MOST_BYTES", 10**6)
    monkeypatch.setattr(bundle, "MOST_FILES", 3)
    refuse(packed)
    with pytest.raises(UsageError, match="name fewer folders"):
        write_bundle([packed.parent / "mine"], packed.with_name("y.zip"))


def test_a_file_that_is_larger_than_the_list_has_it_is_refused(packed):
    rewrite(packed, {f"{RUN}/policies/1.safetensors": bytes(8 << 20)})
    data = bytearray(packed.read_bytes())
    place = data.rindex(f"{RUN}/policies".encode()) - 46
    assert data[place : place + 4] == b"PK\x01\x02"
    data[place + 24 : place + 28] = struct.pack("<L", 1000)
    packed.write_bytes(data)
    refuse(packed)


def test_what_is_no_zip_file_or_ends_otherwise_is_refused(packed):
    data = packed.read_bytes()
    others = [b"", b"PK\x05\x06" + bytes(18), b"<html>" * 100, b"PK\x03\x04" + bytes(500)]
    for offset, end in ((12, b"\0\0\0\x40"), (16, b"\5\0\0\0")):
        place = len(data) - 22 + offset
        others.append(data[:place] + end + data[place + len(end) :])
    for other in others:
        packed.write_bytes(other)
        refuse(packed)


def test_a_bundle_that_is_cut_off_or_damaged_is_refused(packed):
    data = packed.read_bytes()
    for stop in range(0, len(data), max(1, len(data) // 40)):
        packed.write_bytes(data[:stop])
        refuse(packed)
    for place in range(0, len(data), max(1, len(data) // 40)):
        packed.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            with open_bundles([packed]) as (folder,):
                assert (folder / "Foo-v5/cem/seed-000/eval.csv").is_file()  # a byte without meaning
        except UsageError:
            pass


def test_a_fifo_and_a_sparse_file_are_no_bundles(packed):
    packed.unlink()
    os.mkfifo(packed)
    assert not is_bundle(packed)  # so it is no folder either
    packed.unlink()
    with packed.open("wb") as file:
        file.truncate(5 << 30)
    assert "4 GiB" in refuse(packed)
