"""Writing a bundle: what it holds, what was redacted in it, and that the runs stay as they are."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.api import load_results
from erlbench.bundle.contents import MANIFEST
from erlbench.bundle.read import opened
from erlbench.bundle.redact import Redactor
from erlbench.bundle.write import write_bundle
from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.records.run import REDACTED, file_checksum
from tests.reporting.make_runs import make_run

COMMAND = "/home/carol/bin/erlbench run --wandb-token abc"


def study(folder: Path, seeds: int = 2) -> Path:
    for seed in range(seeds):
        run = make_run(folder, "Foo-v5", "cem", seed, [0, 10, 20 + seed])
        meta = json.loads((run / "meta.json").read_text())
        (run / "meta.json").write_text(json.dumps({**meta, "command_line": COMMAND}))
        status = json.loads((run / "status.json").read_text())
        sums = {name: file_checksum(run / name) for name in ("eval.csv", "meta.json", "config.toml")}
        (run / "status.json").write_text(json.dumps({**status, "files": sums}))
    return folder


def write(folders, target, said=None):
    return write_bundle(folders, target, (said if said is not None else []).append, Redactor())


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_bundle_holds_the_runs_under_the_name_of_their_folder(tmp_path):
    results = study(tmp_path / "mine")
    (results / "Foo-v5" / "cem" / "seed-000" / "notes.txt").write_text("not of a run")
    (results / "Foo-v5" / "cem" / "seed-000" / "error.txt").write_text("/home/carol")
    write([results], tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        names = archive.namelist()
    kinds = {Path(name).name for name in names}
    assert {"config.toml", "status.json", "meta.json", "eval.csv", "tasks.csv", MANIFEST} <= kinds
    assert not kinds & {"notes.txt", "error.txt"}
    assert {name.rpartition("/")[0] for name in names} == {"", "mine/Foo-v5/cem/seed-000", "mine/Foo-v5/cem/seed-001"}


def test_what_is_redacted_is_printed_before_and_marked_in_the_bundle(tmp_path):
    results, said = study(tmp_path / "mine"), []
    before = files_of(results)
    write([results], tmp_path / "x.zip", said)
    assert any("home folder: /home/carol -> ~" in line for line in said)
    assert files_of(results) == before
    with opened([tmp_path / "x.zip"]) as (folder,):
        for seed in range(2):
            run, own = (place / "Foo-v5" / "cem" / f"seed-{seed:03d}" for place in (folder, results))
            status = json.loads((run / "status.json").read_text())
            assert (
                json.loads((run / "meta.json").read_text())["command_line"]
                == "~/bin/erlbench run --wandb-token <token>"
            )
            assert status["files"]["meta.json"] == file_checksum(run / "meta.json")
            assert status[REDACTED] == {"meta.json": file_checksum(own / "meta.json")}
            for name in ("eval.csv", "config.toml", "tasks.csv"):
                assert (run / name).read_bytes() == (own / name).read_bytes()


def test_a_run_without_secrets_is_copied_byte_for_byte(tmp_path):
    make_run(tmp_path / "mine", "Foo-v5", "cem", 0, [0, 10])
    write([tmp_path / "mine"], tmp_path / "x.zip")
    with opened([tmp_path / "x.zip"]) as (folder,):
        assert files_of(folder) == files_of(tmp_path / "mine")


def test_what_must_stay_is_named(tmp_path):
    results, said = study(tmp_path / "mine", 1), []
    config = results / "Foo-v5" / "cem" / "seed-000" / "config.toml"
    config.write_text(config.read_text() + '[more]\npath = "/home/carol/m.xml"\n')
    found = write([results], tmp_path / "x.zip", said)
    assert [*found.left] == ["mine/Foo-v5/cem/seed-000/config.toml"]
    assert any("Not redacted" in line and "config.toml" in line for line in said)


def test_runs_that_were_moved_aside_stay_known(tmp_path):
    results = study(tmp_path / "mine", 1)
    aside = make_run(tmp_path / "other", "Foo-v5", "cem", 0, [0, 5])
    aside.rename(results / "Foo-v5" / "cem" / "seed-000.old-1")
    write([results], tmp_path / "x.zip")
    with opened([tmp_path / "x.zip"]) as (folder,):
        assert (folder / "Foo-v5/cem/seed-000.old-1/status.json").is_file()
        assert not (folder / "Foo-v5/cem/seed-000.old-1/tasks.csv").exists()


def test_the_same_runs_give_the_same_bytes(tmp_path):
    results = study(tmp_path / "mine")
    for name in ("a.zip", "b.zip"):
        write([results], tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_several_folders_and_a_single_run_keep_their_places(tmp_path):
    results, other = study(tmp_path / "a" / "mine", 1), study(tmp_path / "b" / "yours", 2)
    write([results, other / "Foo-v5" / "cem" / "seed-001"], tmp_path / "x.zip")
    with opened([tmp_path / "x.zip"]) as (folder,):
        runs = {str(path.parent.relative_to(folder)) for path in folder.rglob("eval.csv")}
    assert runs == {"mine/Foo-v5/cem/seed-000", "Foo-v5/cem/seed-001"}


def test_two_folders_of_one_name_are_refused(tmp_path):
    with pytest.raises(UsageError, match="would have one name"):
        write([study(tmp_path / "a" / "mine", 1), study(tmp_path / "b" / "mine", 1)], tmp_path / "x.zip")


def test_only_a_bundle_is_replaced(tmp_path):
    results = study(tmp_path / "mine", 1)
    for name, data in (("x.zip", b"my thesis"), ("y.csv", b"")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UsageError, match="--bundle"):
            write([results], tmp_path / name)
        assert (tmp_path / name).read_bytes() == data
    (tmp_path / "link.zip").symlink_to(tmp_path / "x.zip")
    with pytest.raises(UsageError, match="something else stands there"):
        write([results], tmp_path / "link.zip")
    write([results], tmp_path / "z.zip")
    write([results], tmp_path / "z.zip")
    assert [path.name for path in tmp_path.glob(".bundle-*")] == []


def test_a_link_in_a_run_is_not_followed(tmp_path):
    results = study(tmp_path / "mine", 1)
    (tmp_path / "secret").write_text("secret")
    tasks = results / "Foo-v5" / "cem" / "seed-000" / "tasks.csv"
    tasks.unlink()
    tasks.symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match="a link"):
        write([results], tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_commands_read_a_bundle_as_a_folder(tmp_path, monkeypatch):
    results = study(tmp_path / "mine", 5)
    monkeypatch.chdir(tmp_path)

    def run(*words):
        done = CliRunner().invoke(cli, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        return done.output

    printed = run("report", results, "--out", "one", "--bundle", "x.zip")
    assert "x.zip" in printed
    run("report", "x.zip", "--out", "two")
    scores = [(tmp_path / name / "all-runs" / "scores.csv").read_bytes() for name in ("one", "two")]
    assert scores[0] == scores[1]
    assert "mine" in run("compare", "x.zip", results, "--out", "three")
    whole, packed = load_results(results), load_results("x.zip")
    assert packed.cells.drop(columns="path").equals(whole.cells.drop(columns="path"))
    assert packed.evaluations.equals(whole.evaluations)
    place = packed.runs[0]
    packed.held[0].close()
    assert not place.exists()


def test_show_cite_and_export_read_a_bundle_as_a_folder(tmp_path, monkeypatch):
    results = study(tmp_path / "mine", 2)
    monkeypatch.chdir(tmp_path)
    write([results], tmp_path / "x.zip")
    for words in (["show"], ["cite"], ["export", "--to", "sb3", "--out"]):
        of_folder, of_bundle = (
            CliRunner().invoke(cli, [words[0], place, *words[1:], *([f"out-{place[-3:]}"] if words[1:] else [])])
            for place in (str(results), "x.zip")
        )
        assert (of_folder.exit_code, of_bundle.exit_code) == (0, 0), of_bundle.output
        assert of_bundle.output.replace("out-zip", "") == of_folder.output.replace(f"out-{str(results)[-3:]}", "")


def test_what_is_printed_and_written_has_the_bundles_own_names(tmp_path, monkeypatch):
    results = study(tmp_path / "mine", 2)
    (results / "Foo-v5/cem/seed-001/eval.csv").unlink()  # a warning with its path
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    write([results], tmp_path / "x.zip")
    (tmp_path / "other").mkdir()
    write([results], tmp_path / "other/x.zip")
    for words in (["report", "x.zip"], ["compare", "x.zip", "other/x.zip"], ["verify", "x.zip"]):
        done = CliRunner().invoke(cli, words)
        assert "x.zip/" in done.output
        assert "bundle-" not in done.output
    written = [path for name in ("report", "comparison") for path in (tmp_path / name).rglob("*") if path.is_file()]
    assert [path for path in written if b"bundle-" in path.read_bytes()] == []
    assert "x.zip/mine" in (tmp_path / "report/cells.csv").read_text()


def test_one_bundle_twice_is_refused_and_two_of_one_name_are_told_apart(tmp_path, monkeypatch):
    results = study(tmp_path / "mine", 1)
    monkeypatch.chdir(tmp_path)
    write([results], tmp_path / "x.zip")
    assert CliRunner().invoke(cli, ["compare", "x.zip", "x.zip"]).exit_code == 2
    (tmp_path / "other").mkdir()
    write([results], tmp_path / "other/x.zip")
    done = CliRunner().invoke(cli, ["compare", "x.zip", "other/x.zip"])
    assert done.exit_code == 0
    assert "(1)" in done.output
    assert "(2)" in done.output


def test_the_manifest_lists_what_was_written(tmp_path):
    write([study(tmp_path / "mine", 1)], tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        manifest = json.loads(archive.read(MANIFEST))
        sums = {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist() if name != MANIFEST}
    assert manifest["files"] == sums
    assert any("home folder" in line for line in manifest["redacted"])
