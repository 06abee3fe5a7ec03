"""Bundles: no name of a person or a machine in them, equal bytes for equal runs, and nothing of anybody's believed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import tomli_w
from click.testing import CliRunner

import erlbench
from erlbench import bundle
from erlbench.bundle import name_hider, open_bundles, write_bundle
from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.experiment import studies
from erlbench.records.run import REDACTED, config_hash, file_checksum
from tests.reporting.make_runs import make_run, write_json

RUN = "mine/Foo-v5/cem/seed-000"
SMALL = ("config.toml", "meta.json", "events.csv")


pytestmark = pytest.mark.usefixtures("home")


def call(*words: object) -> str:
    result = CliRunner().invoke(cli, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result.output


def study(folder: Path, seeds: int = 2) -> Path:
    """Runs whose status.json has checksums, without names of anybody."""
    for seed in range(seeds):
        run = make_run(folder, "Foo-v5", "cem", seed, [0, 10, 20 + seed])
        meta = json.loads((run / "meta.json").read_text())
        meta["starts"][0]["config_sha256"] = config_hash(run)
        for start in (meta, *meta["starts"]):
            del start["command_line"]
        write_json(run / "meta.json", meta)
        seal(run)
    return folder


def seal(run: Path) -> None:
    """Write the checksums of a run's files."""
    status = json.loads((run / "status.json").read_text())
    write_json(
        run / "status.json", {**status, "files": {name: file_checksum(run / name) for name in (*SMALL, "eval.csv")}}
    )


def name_people(run: Path, home: Path) -> None:
    """Put home folder, user and host where they may stand in a run's files."""
    config = erlbench.files.read_toml(run / "config.toml")
    (run / "config.toml").write_text(tomli_w.dumps({**config, "env_settings": {"xml_file": f"{home}/robots/ant.xml"}}))
    meta = json.loads((run / "meta.json").read_text())
    meta["starts"][0] |= {"config_sha256": config_hash(run), "command_line": f"{home}/bin/erlbench run --key hf_abcdef"}
    write_json(run / "meta.json", {**meta, "command_line": "erlbench run", "overrides": {"cwd": "/scratch/alice/x"}})
    with open(run / "events.csv", "a") as file:
        file.write(f"1.0,worker died,in {home}/x on bigbox\n")
        file.write(
            "2.0,node joined,cruncher7 (0a1b2c) with 4 processes\n3.0,worker died,/home/bob/y of cruncher7 (0a1b2c)\n"
        )
    status = json.loads((run / "status.json").read_text())
    write_json(run / "status.json", {**status, "message": f"{home}/robots/ant.xml is gone from bigbox.lab, says alice"})
    seal(run)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_member_names_host_user_or_home(tmp_path, home):
    results = study(home / "alice-results")
    for run in results.rglob("seed-*"):
        name_people(run, home)
    aside = make_run(tmp_path / "other", "Foo-v5", "cem", 0, [0, 5])
    name_people(aside, home)
    aside.rename(results / "Foo-v5/cem/seed-000.old-1")
    before = files_of(results)
    assert write_bundle([results], tmp_path / "x.zip") == 2
    assert files_of(results) == before
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        members = {name: archive.read(name).decode(errors="replace") for name in archive.namelist()}
    assert {"user-results/Foo-v5/cem/seed-000.old-1/status.json"} <= members.keys()
    for name, text in members.items():
        for secret in ("alice", "bigbox", "bob", "cruncher7", "people", "command_line", "hf_abcdef"):
            assert secret not in f"{name} {text}", name
    assert "~/robots/ant.xml" in members["user-results/Foo-v5/cem/seed-000/config.toml"]


def test_a_name_that_must_stay_is_named(tmp_path, capsys):
    make_run(tmp_path / "mine", "alice_envs-Reach-v0", "cem", 0, [0, 10])
    write_bundle([tmp_path / "mine"], tmp_path / "x.zip")
    assert "mine/alice_envs-Reach-v0/cem/seed-000/" in capsys.readouterr().err
    make_run(tmp_path / "yours", "malice-v0", "cem", 0, [0, 10])
    write_bundle([tmp_path / "yours"], tmp_path / "y.zip")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("home", ["/", "/home/alice", ""])
def test_a_home_folder_may_be_any(monkeypatch, home):
    monkeypatch.setenv("HOME", home)
    assert name_hider()("/data/x of /home/alice/x") == "/data/x of ~/x"


def test_checksums_hold_and_say_what_was_redacted(tmp_path, home):
    results = study(tmp_path / "mine", 1)
    own = results / "Foo-v5/cem/seed-000"
    name_people(own, home)
    write_bundle([results], tmp_path / "x.zip")
    with open_bundles([tmp_path / "x.zip"]) as (folder,):
        run = folder / "Foo-v5/cem/seed-000"
        status = json.loads((run / "status.json").read_text())
        assert status["files"] == {name: file_checksum(run / name) for name in (*SMALL, "eval.csv")}
        assert status[REDACTED] == {name: file_checksum(own / name) for name in SMALL}
        assert json.loads((run / "meta.json").read_text())["starts"][0]["config_sha256"] == config_hash(run)
        assert (run / "eval.csv").read_bytes() == (own / "eval.csv").read_bytes()


def test_a_bundle_holds_files_of_runs_alone(tmp_path):
    results = study(tmp_path / "mine")
    run = results / "Foo-v5/cem/seed-000"
    for name in ("notes.txt", "error.txt", "policies/000001.safetensors", "checkpoint/000001/state.json"):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text("x")
    write_bundle([results], tmp_path / "x.zip")
    with open_bundles([tmp_path / "x.zip"]) as (folder,):
        names = files_of(folder).keys()
        assert {name.rpartition("/")[0] for name in names} == {
            "Foo-v5/cem/seed-000", "Foo-v5/cem/seed-001", "Foo-v5/cem/seed-000/policies",
        }  # fmt: skip
        assert not {Path(name).name for name in names} & {"notes.txt", "error.txt", "state.json"}


def test_a_bundle_has_the_study_of_its_folder_as_it_is(tmp_path, capsys):
    assert bundle.STUDY == studies.FILE
    results = study(tmp_path / "mine", 1)
    (results / bundle.STUDY).write_bytes(b'[studies.one]\nclaim = "alice is \xe9lue"\n')  # no text in UTF-8
    write_bundle([results], tmp_path / "x.zip")
    assert bundle.STUDY in capsys.readouterr().err
    with open_bundles([tmp_path / "x.zip"]) as (folder,):
        assert files_of(folder) == files_of(results)


def test_the_same_runs_give_the_same_bytes(tmp_path, home):
    for name in ("a", "b"):
        name_people(study(tmp_path / name / "mine", 1) / "Foo-v5/cem/seed-000", home)
        write_bundle([tmp_path / name / "mine"], tmp_path / f"{name}.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_only_a_bundle_is_replaced(tmp_path):
    results = study(tmp_path / "mine", 1)
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("summer/1.jpg", b"x")
    (tmp_path / "x.zip").write_bytes(b"my thesis")
    (tmp_path / "y.csv").write_bytes(b"")
    (tmp_path / "link.zip").symlink_to(tmp_path / "x.zip")
    before = files_of(tmp_path)
    for name in ("x.zip", "y.csv", "photos.zip", "link.zip"):
        with pytest.raises(UsageError, match=name):
            write_bundle([results], tmp_path / name)
    assert files_of(tmp_path) == before
    (tmp_path / ".z.zip").symlink_to(tmp_path / "x.zip")  # where the new file is made
    for _ in range(2):
        write_bundle([results], tmp_path / "z.zip")
    assert (tmp_path / "x.zip").read_bytes() == b"my thesis"
    assert not (tmp_path / ".z.zip").exists()


def test_a_link_in_a_run_is_not_followed(tmp_path):
    results = study(tmp_path / "mine", 1)
    (tmp_path / "secret").write_text("secret")
    tasks = results / "Foo-v5" / "cem" / "seed-000" / "tasks.csv"
    tasks.unlink()
    tasks.symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match="a link"):
        write_bundle([results], tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "{", "\udcff"])
@pytest.mark.parametrize("name", ["meta.json", "status.json", "config.toml"])
def test_a_damaged_run_is_named(tmp_path, name, text):
    results = study(tmp_path / "mine", 1)
    (results / "Foo-v5/cem/seed-000" / name).write_text(text, errors="surrogateescape")
    if (name, text) == ("config.toml", "[]"):
        text = "a = "
    with pytest.raises(UsageError, match=name):
        write_bundle([results], tmp_path / "x.zip")


def test_commands_read_a_bundle_as_a_folder(tmp_path, monkeypatch):
    results = study(tmp_path / "mine", 5)
    monkeypatch.chdir(tmp_path)
    call("convert", "--to", "bundle", results, "--out", "x.zip")
    for name, place in (("one", results), ("two", "x.zip")):
        call("report", place, "--out", name)
    scores = [(tmp_path / name / "all-runs" / "scores.csv").read_bytes() for name in ("one", "two")]
    assert scores[0] == scores[1]
    assert call("show", "x.zip") == call("show", results)
    call("convert", "x.zip", "--to", "sb3", "--out", "exported")
    assert len([*(tmp_path / "exported").rglob("evaluations.npz")]) == 5
    whole, packed = erlbench.load_results(results), erlbench.load_results("x.zip")
    assert packed.cells.drop(columns="path").equals(whole.cells.drop(columns="path"))
    assert packed.evaluations.equals(whole.evaluations)
    place = packed.runs[0]
    assert place.is_dir()
    del packed
    assert not place.exists()
    call("convert", "x.zip", "--out", "again")
    assert files_of(tmp_path / "again") == files_of(results)


def test_a_bundle_of_a_real_run_names_nobody_and_is_verified(tmp_path, home):
    words = ("--total-timesteps", 600, "--eval-freq", 300, "--processes", 0, "--env-set", "max_episode_steps=50")
    call("run", "--algo", "cem", "--env", "CartPole-v1", *words, "--out", home / "mine")
    call("convert", home / "mine", "--out", tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        for name in archive.namelist():
            for secret in (b"alice", b"bigbox", b"people", b"command_line", str(tmp_path).encode()):
                assert secret not in archive.read(name), name
    verified = subprocess.run(
        [sys.executable, "-m", "erlbench", "verify", tmp_path / "x.zip", "-v"], capture_output=True, text=True
    )
    assert verified.returncode == 0, verified.stdout
    checks = dict(re.findall(r"^(\w+) +(agrees|cannot be verified) ", verified.stdout, re.MULTILINE))
    assert checks["checksums"] == "cannot be verified"  # meta.json is redacted
    assert {checks["policy"], checks["version"], checks["config"]} == {"agrees"}


# -- bundles of anybody -----------------------------------------------------------------------------------------------
