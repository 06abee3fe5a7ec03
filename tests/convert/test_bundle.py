"""Bundles: no name of a person or a machine in them, equal bytes for equal runs, and nothing of anybody's believed."""

import json
import re
import resource
import shutil
import zipfile
from functools import partial
from pathlib import Path

import pytest

import erlbench
from erlbench import bundle
from erlbench.bundle import name_hider, open_bundles, write_bundle
from erlbench.errors import UsageError
from erlbench.experiment import studies
from erlbench.records.run import REDACTED, config_hash, file_checksum
from tests.calls import python, succeed
from tests.files import contents, edit_json
from tests.reporting.make_runs import make_run

SMALL = ("config.toml", "meta.json", "events.csv")
RUN = "Foo-v5/cem/seed-000"


pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "mine", "Foo-v5", "cem", 0, [0, 10])


SOURCES = '[imported.sources]\n"events.out.tfevents.1.bigbox.2" = "0"\n'


def study(folder, home):
    """A run with checksums; home folder, user and host stand wherever they may in its files."""
    xml, key = f"{home}/robots/ant.xml", f"{home}/bin/erlbench run --key hf_abcdef"
    run = make_run(
        folder, "Foo-v5", "cem", 0, [0, 10, 20], message=f"{xml} is gone from bigbox.lab, says alice",
        settings=f'[env_settings]\nxml_file = "{xml}"\n{SOURCES}', starts=[{"command_line": key}],
    )  # fmt: skip
    digest, overrides = config_hash(run), {"cwd": "/scratch/alice/x"}
    edit_json(run / "meta.json", lambda meta: meta["starts"][0].update(config_sha256=digest), overrides=overrides)
    with open(run / "events.csv", "a") as file:
        file.write(f"1.0,worker died,in {home}/x on bigbox\n3.0,worker died,/home/bob/y\n")
    edit_json(run / "status.json", files={name: file_checksum(run / name) for name in (*SMALL, "eval.csv")})
    return folder


def test_no_member_names_host_user_or_home_and_checksums_hold(tmp_path, home, monkeypatch):
    results = study(home / "alice-results", home)
    shutil.copytree(results / RUN, results / f"{RUN}.old-1")
    before = contents(results)
    for name in ("x.zip", "y.zip"):
        assert write_bundle([results], tmp_path / name) == 1
    assert (tmp_path / "x.zip").read_bytes() == (tmp_path / "y.zip").read_bytes()
    assert contents(results) == before
    with open_bundles([tmp_path / "x.zip"]) as (folder,):
        members = contents(folder)
        assert folder.name == "user-results"
        assert f"{RUN}.old-1/status.json" in members
        for name, content in members.items():
            for secret in ("alice", "bigbox", "bob", "people", "command_line", "hf_abcdef"):
                assert secret not in f"{name} {content}", name
        assert b"~/robots/ant.xml" in members[f"{RUN}/config.toml"]
        status = json.loads(members[f"{RUN}/status.json"])
        assert status["files"] == {name: file_checksum(folder / RUN / name) for name in (*SMALL, "eval.csv")}
        assert status[REDACTED] == {name: file_checksum(results / RUN / name) for name in SMALL}
        assert json.loads(members[f"{RUN}/meta.json"])["starts"][0]["config_sha256"] == config_hash(folder / RUN)
        assert members[f"{RUN}/eval.csv"] == before[f"{RUN}/eval.csv"]
    for folder in ("/", "/home/alice", ""):
        monkeypatch.setenv("HOME", folder)
        assert name_hider()("/data/x of /home/alice/x") == "/data/x of ~/x"


def test_a_damaged_run_or_one_with_a_link_is_named_and_not_bundled(tmp_path, run):
    (run / "tasks.csv").unlink()
    (run / "tasks.csv").symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match="a link"):
        write_bundle([run], tmp_path / "x.zip")
    (run / "tasks.csv").unlink()
    for name, text in (("meta.json", "[" * 100_000), ("status.json", "[]"), ("config.toml", "\udcff")):
        whole = (run / name).read_bytes()
        (run / name).write_text(text, errors="surrogateescape")
        with pytest.raises(UsageError, match=name):
            write_bundle([run], tmp_path / "x.zip")
        (run / name).write_bytes(whole)
    assert not (tmp_path / "x.zip").exists()


def test_a_name_that_must_stay_is_named(tmp_path, capsys):
    make_run(tmp_path / "mine", "alice_envs-Reach-v0", "cem", 0, [0, 10])
    write_bundle([tmp_path / "mine"], tmp_path / "x.zip")
    assert "mine/alice_envs-Reach-v0/cem/seed-000/" in capsys.readouterr().err
    make_run(tmp_path / "yours", "malice-v0", "cem", 0, [0, 10])
    write_bundle([tmp_path / "yours"], tmp_path / "y.zip")
    assert capsys.readouterr().err == ""


def test_a_bundle_holds_files_of_runs_alone_and_the_study_as_it_is(tmp_path, run, capsys):
    assert bundle.STUDY == studies.FILE
    results = tmp_path / "mine"
    text = b'[studies.one]\nclaim = "alice is \xe9lue"\n'  # no text in UTF-8
    (results / bundle.STUDY).write_bytes(text)
    for name in ("notes.txt", "error.txt", "policies/000001.safetensors", "checkpoint/000001/state.json"):
        (run / name).parent.mkdir(exist_ok=True, parents=True)
        (run / name).write_text("x")
    write_bundle([results], tmp_path / "x.zip")
    assert bundle.STUDY in capsys.readouterr().err
    with open_bundles([tmp_path / "x.zip"]) as (folder,):
        members = contents(folder)
    assert members[bundle.STUDY] == text
    names = {name.removeprefix(f"{RUN}/") for name in members}
    assert {"policies/000001.safetensors", "eval.csv"} <= names
    assert not names & {"notes.txt", "error.txt", "checkpoint/000001/state.json"}


def test_a_folder_of_any_name_is_bundled(tmp_path):
    for number, name in enumerate(("it's mine & yours", ".results", "a[1]")):
        make_run(tmp_path / name, "Foo-v5", "cem", number, [0, 10])
        write_bundle([tmp_path / name], tmp_path / "x.zip")
        assert erlbench.load_results(tmp_path / "x.zip").cells["seed"].tolist() == [number]


def test_the_study_of_each_of_several_folders_is_bundled_or_refused(tmp_path):
    folders = [tmp_path / name / "results" for name in ("mine", "more", "others")]
    for seed, folder in enumerate(folders):
        make_run(folder, "Foo-v5", "cem", seed, [0, 10])
    (folders[0] / bundle.STUDY).write_text("[studies.mine]\n")
    write_bundle(folders, tmp_path / "x.zip")
    with open_bundles([tmp_path / "x.zip"]) as (folder,):
        assert contents(folder)[bundle.STUDY] == b"[studies.mine]\n"
    (folders[2] / bundle.STUDY).write_text("[studies.other]\n")
    with pytest.raises(UsageError, match=f"others/results/{bundle.STUDY}"):
        write_bundle(folders, tmp_path / "x.zip")


def test_only_a_bundle_is_replaced(tmp_path, run):
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("summer/1.jpg", b"x")
    (tmp_path / "x.zip").write_bytes(b"my thesis")
    (tmp_path / "link.zip").symlink_to(tmp_path / "x.zip")
    before = contents(tmp_path)
    for name in ("x.zip", "photos.zip", "link.zip"):
        with pytest.raises(UsageError, match=name):
            write_bundle([run], tmp_path / name)
    assert contents(tmp_path) == before
    (tmp_path / ".z.zip").symlink_to(tmp_path / "x.zip")  # where the new file is made
    for _ in range(2):
        write_bundle([run], tmp_path / "z.zip")
    assert (tmp_path / "x.zip").read_bytes() == b"my thesis"
    assert not (tmp_path / ".z.zip").exists()


def test_a_bundle_without_room_is_a_fault_of_the_machine_and_leaves_nothing(tmp_path, run):
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (500, 500))  # as on a full disk
    words = "-m", "erlbench", "convert", run, "--to", "bundle", "--out", tmp_path / "z.zip"
    done = python(*words, preexec_fn=limit)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "z.zip" in done.stderr
    assert "ulimit -f" in done.stderr
    assert not [*tmp_path.glob("*z.zip*")]


def test_commands_read_a_bundle_of_a_real_run_as_a_folder(tmp_path, home, monkeypatch):
    monkeypatch.chdir(home)
    words = "--seeds 2 --total-timesteps 600 --eval-freq 300 --processes 0 --env-set max_episode_steps=50 --out mine"
    succeed("run", "--algo", "cem", "--env", "CartPole-v1", *words.split())
    succeed("convert", "mine", "--out", "x.zip")
    checks = dict(re.findall(r"^(\w+) +(agrees|cannot be verified) ", succeed("verify", "x.zip", "-v"), re.MULTILINE))
    assert checks["checksums"] == "cannot be verified"  # meta.json is redacted
    assert {checks["policy"], checks["version"], checks["config"]} == {"agrees"}
    for place, out in (("mine", "one"), ("x.zip", "two")):
        succeed("report", place, "--out", out)
    scores = [Path(out, "all-runs", "scores.csv").read_bytes() for out in ("one", "two")]
    assert scores[0] == scores[1]
    whole, packed = erlbench.load_results("mine"), erlbench.load_results("x.zip")
    assert packed.evaluations.equals(whole.evaluations)
    place = packed.runs[0]
    assert place.is_dir()
    del packed
    assert not place.exists()
    with zipfile.ZipFile("x.zip") as archive:
        assert archive.read("mine/CartPole-v1/cem/seed-001/eval.csv") == (whole.runs[1] / "eval.csv").read_bytes()
