from __future__ import annotations

import hashlib
import json
import re
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import erlbench
from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.experiment.command import requested_cells, study_plan
from erlbench.experiment.costs import built_in_costs
from erlbench.experiment.departures import of_run
from erlbench.experiment.options import RunArguments
from erlbench.experiment.plan_file import plan_hash, plan_text, read_plan
from tests import plans


def resolved(path):
    return study_plan(RunArguments(plan=str(path)))[0]


def run(*words):
    return CliRunner().invoke(cli, ["run", "--processes", "0", *map(str, words)])


def test_the_hash_is_that_of_the_resolved_values_without_texts(tmp_path):
    found = resolved(plans.write(tmp_path / "a.toml"))
    values = tomllib.loads(plan_text(found))
    for name in ("title", "why", "written"):
        del values[name]
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    assert found.hash == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('title = "Wide or narrow"', 'title = "Another"', True),
        ('written = "2026-11-25"', 'written = "2027-01-01"', True),
        ("eval_freq = 250\n", "eval_freq = 250\nevaluate = 'after'\n", True),  # the default, written out
        ("stretch = [250, 750]", "stretch = [250.0, 750]", True),
        ("initial_variance = 1e-4", "initial_variance = 1e-4, tau_cem = 0.95", True),
        ("initial_variance = 1e-4", "initial_variance = 2e-4", False),
        ("stretch = [250, 750]", "stretch = [250, 700]", False),
        ("looks = [2, 4]", "looks = [3, 4]", False),
        ("pilot_seeds = [0, 1]", "pilot_seeds = [0]", False),
    ],
)
def test_what_changes_the_hash(tmp_path, old, new, same):
    before, after = (
        resolved(plans.write(tmp_path / name, **changes)) for name, changes in (("a.toml", {}), ("b.toml", {old: new}))
    )
    assert (before.hash == after.hash) is same
    assert (before.assigned_seeds() == after.assigned_seeds()) is same


def test_a_resolved_plan_reads_back_with_its_hash_whatever_the_defaults_are_then(tmp_path, monkeypatch):
    found = resolved(plans.write(tmp_path / "a.toml"))
    (tmp_path / "b.toml").write_text(plan_text(found))
    monkeypatch.setattr("erlbench.experiment.command.resolve", pytest.fail)
    assert read_plan(tmp_path / "b.toml") == found
    assert read_plan(tmp_path / "b.toml").hash == found.hash


def test_seeds_follow_from_the_hash_and_none_is_a_pilots(tmp_path, monkeypatch):
    found = resolved(plans.write(tmp_path / "a.toml"))
    stream = [int(hashlib.sha256(f"{found.hash}{i}".encode()).hexdigest(), 16) % 10**9 for i in range(6)]
    assert found.assigned_seeds() == tuple(stream[:4])
    assert all(seed >= 1000 for seed in stream)
    monkeypatch.setattr(type(found), "hash", found.hash)
    assert replace(found, pilot_seeds=(stream[1],)).assigned_seeds() == (stream[0], *stream[2:5])
    many = replace(found, seeds=1000).assigned_seeds()
    assert len(set(many)) == 1000


def test_a_plan_is_run_seed_by_seed_with_its_hash_in_every_run(tmp_path):
    path, out = plans.write(tmp_path / "a.toml"), tmp_path / "out"
    done = run("--plan", path, "--out", out, "--only-seeds", 1)
    assert done.exit_code == 0, done.output
    found = resolved(path)
    metas = {
        (file.parts[-3], file.parts[-2]): json.loads(file.read_text()) for file in out.rglob("meta.json")
    }  # fmt: skip
    seed = f"seed-{found.assigned_seeds()[0]}"
    assert metas.keys() == {("cem", seed), ("cem-narrow", seed)}
    assert {meta["starts"][0]["study_plan"] for meta in metas.values()} == {found.hash}
    assert read_plan(out / "plan.toml") == found
    cells = requested_cells(RunArguments(plan=str(out / "plan.toml")))
    assert [(cell.seed, cell.name) for cell in cells] == [
        (seed, name) for seed in found.assigned_seeds() for name in ("cem", "cem-narrow")
    ]
    assert {cell.out for cell in cells} == {out}
    again = run("--plan", path, "--out", out, "--only-seeds", 1)
    assert (again.exit_code, again.output.count("already done")) == (0, 2)


def test_a_value_of_a_folder_wins_over_none_of_a_plan(tmp_path):
    """Also where the plan's file does not write it out, as its default is part of the plan."""
    path, out = plans.write(tmp_path / "a.toml"), tmp_path / "out"
    assert run("--plan", path, "--out", out, "--only-seeds", 1).exit_code == 0
    file = next(out.rglob("cem/seed-*/config.toml"))
    file.write_text(file.read_text().replace("tau_cem = 0.95", "tau_cem = 0.9"))
    done = run("--plan", path, "--out", out, "--only-seeds", 1)
    assert (done.exit_code, "settings.tau_cem: 0.9 " in done.output) == (2, True)


def test_a_folder_under_another_plan_or_with_runs_is_refused(tmp_path):
    path, out = plans.write(tmp_path / "a.toml"), tmp_path / "out"
    run("--plan", path, "--out", out, "--only-seeds", 1)
    files = sorted(out.rglob("*"))
    other = run("--plan", plans.write(tmp_path / "b.toml", **{"initial_variance = 1e-4": "sigma = 1"}), "--out", out)
    assert other.exit_code == 2
    other = run("--plan", plans.write(tmp_path / "b.toml", **{"[2, 4]": "[3, 4]"}), "--out", out)
    assert (other.exit_code, "under another plan" in other.output, other.output.count("\n")) == (2, True, 1)
    assert sorted(out.rglob("*")) == files
    by_hand = tmp_path / "by-hand"
    plans.write(by_hand / "plan.toml")
    other = run("--plan", plans.write(tmp_path / "b.toml", **{"[2, 4]": "[3, 4]"}), "--out", by_hand)
    assert (other.exit_code, "under another plan" in other.output) == (2, True)
    assert run("--plan", by_hand / "plan.toml", "--only-seeds", 1).exit_code == 0
    assert read_plan(by_hand / "plan.toml") == resolved(path)
    (out / "plan.toml").unlink()
    late = run("--plan", path, "--out", out)
    assert (late.exit_code, "before the first run" in late.output) == (2, True)


@pytest.mark.parametrize(
    "words",
    ["--set population=5", "--seeds 3", "--eval-freq 100", "--algo cem", "--env Hopper-v5", "--name x",
     "--total-timesteps 10", "--simulated-time", "--study x"],
)  # fmt: skip
def test_what_a_plan_decides_cannot_be_typed_beside_it(tmp_path, words):
    done = run("--plan", plans.write(tmp_path / "a.toml"), "--out", tmp_path / "out", *words.split())
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert words.split()[0] in done.output
    assert not (tmp_path / "out").exists()


def test_only_seeds_needs_a_plan():
    assert run("--algo", "cem", "--env", "Hopper-v5", "--only-seeds", 1).exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("format = 2", "format = 3", "format"),
        ("seeds = 4", "seeds = 1", "seeds ="),
        ("pilot_seeds = [0, 1]", "pilots = [0, 1]", "pilots"),
        ('a = "narrow"', 'a = "narow"', 'a = "narow"'),
        ('a = "narrow"', 'a = "wide"', 'b = "wide"'),
        ("[250, 750]", "[750, 250]", "stretch"),
        ("[250, 750]", "[250, 751]", "stretch"),
        ("[250, 750]", "[250]", "stretch"),
        ("[250, 750]", "[1, 2]\naxis = 'minutes'", "stretch"),
        ("[250, 750]", "[250, 750]\naxis = 'hours'", "axis"),
        ("looks = [2, 4]", "looks = [4, 2]", "looks"),
        ("looks = [2, 4]", "looks = [2, 5]", "looks"),
        ("looks = [2, 4]", "looks = [2, 3]", "looks"),
        ("looks = [2, 4]", "looks = []", "looks"),
        ("looks = [2, 4]", "looks = [2, 4]\nlevel = 1.5", "level"),
        ("looks = [2, 4]", "looks = [2, 4]\ncorrection = 'bonferoni'", "correction"),
        ("looks = [2, 4]", "looks = [2, 4]\nspending = 'none'", "spending"),
        ('name = "cem-narrow"', 'name = "a/b"', 'name = "a/b"'),
        ('name = "cem-narrow"', "", "[[cells]]"),
        ('label = "wide"', 'label = "narrow"', 'label = "narrow"'),
        ("total_timesteps = 1000", "total_minutes = 5.0", "total_minutes"),
        ("total_timesteps = 1000", "", "[[cells]]"),
        ("eval_freq = 250", "eval_freq = 0", "eval_freq"),
        ("[test]", "[costs]\ntimestep = 1\n[test]", "[costs]"),
    ],
)
def test_a_mistake_in_a_plan_is_one_line_that_names_where(tmp_path, old, new, where):
    path = plans.write(tmp_path / "a.toml", **{old: new})
    done = run("--plan", path, "--out", tmp_path / "out")
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    number = re.match(rf"erlbench: {re.escape(str(path))}, line (\d+): ", done.output)
    assert number, done.output
    assert where in path.read_text().splitlines()[int(number[1]) - 1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('algo = "cem"', 'algo = "cme"', "unknown algorithm 'cme'"),
        ('algo = "cem"', 'algo = "cem@no"', "no"),
        ("population = 4", "pupulation = 4", "population"),
        ('env = "InvertedPendulum-v5"', 'env = "InvertedPendulumm-v5"', "InvertedPendulum"),
        ("set = { population = 4, elites = 2, hidden = [8] }", "settings = { population = 4, elites = 2 }", "hidden"),
    ],
)
def test_a_cell_that_cannot_be_run_is_refused_before_anything_is_written(tmp_path, old, new, word):
    done = run("--plan", plans.write(tmp_path / "a.toml", **{old: new}), "--out", tmp_path / "out")
    assert (done.exit_code, word in done.output, done.output.count("\n")) == (2, True, 1), done.output
    assert not (tmp_path / "out").exists()


def test_costs_are_values_of_the_plan_whether_written_out_named_or_built_in(tmp_path):
    timed = {"[test]": "[simulated_time]\nprocesses = 2\n[test]"}
    built_in = resolved(plans.write(tmp_path / "a.toml", **timed))
    assert built_in.costs == asdict(built_in_costs())
    rows = plan_text(built_in).partition("[costs]\n")[2].partition("\n[")[0]
    (tmp_path / "costs.toml").write_text(rows)
    table = {"[[contrasts]]": f"[costs]\n{rows}\n[[contrasts]]"}
    assert resolved(plans.write(tmp_path / "b.toml", **timed, **table)).hash == built_in.hash
    named = resolved(plans.write(tmp_path / "c.toml", **{**timed, "seeds = 4": 'seeds = 4\ncosts = "costs.toml"'}))
    assert named.hash == built_in.hash
    other = plans.write(tmp_path / "d.toml", **{**timed, "seeds = 4": 'seeds = 4\ncosts = "costs.toml"'})
    (tmp_path / "costs.toml").write_text(rows.replace("cores = 4", "cores = 8"))
    assert resolved(other).hash != built_in.hash
    cell = requested_cells(RunArguments(plan=str(other)))[0]
    assert (cell.simulated_time, cell.processors, cell.costs.cores) == (True, 2, 8)


@pytest.mark.data
def test_the_plan_of_the_documentation_is_one(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "planning.md"
    (tmp_path / "a.toml").write_text(page.read_text().split("```toml\n")[1].split("```")[0])
    found = resolved(tmp_path / "a.toml")
    assert (found.seeds, len(found.cells), found.contrasts[0].axis) == (12, 2, "minutes")
    assert requested_cells(RunArguments(plan=str(tmp_path / "a.toml")))[0].total_minutes == 19.0


@pytest.mark.data
def test_the_plan_of_the_study_of_asynchrony_is_whole_and_can_be_run():
    path = Path(__file__).parents[2] / "results" / "asynchrony" / "plan.toml"
    found = read_plan(path)
    assert found.hash == "971b3c819d74ca7b989485f7e57048c4db31c605aeaf1afea3dfe87008c83306"  # as in its runs
    assert (found.resolved, found.seeds, found.test.looks, len(found.cells), len(found.contrasts)) == (
        True, 12, (6, 12), 5, 6,
    )  # fmt: skip
    cells = requested_cells(RunArguments(plan=str(path)))
    assert len(cells) == 60
    for cell in cells:
        assert of_run(found, cell.config(), cell.label) == []
        assert (cell.total_minutes, cell.processors, cell.eval_freq, cell.eval_episodes) == (19.9, 5, 5000, 10)
        assert cell.costs == built_in_costs()


def test_a_plan_is_run_from_python_and_a_dry_run_writes_nothing(tmp_path):
    path, out = plans.write(tmp_path / "a.toml"), tmp_path / "out"
    done = run("--plan", path, "--out", out, "--only-seeds", 1, "--dry-run")
    assert (done.exit_code, out.exists()) == (0, False)
    assert resolved(path).hash in done.stderr
    results = erlbench.run(plan=str(path), out=str(out), only_seeds=1, processes=0)
    assert set(results.cells["seed"]) == set(resolved(path).assigned_seeds()[:1])
    assert plan_hash(out) == resolved(path).hash


@pytest.mark.parametrize(
    ("old", "new"),
    [("eval_freq = 250", "eval_freq = 251"), ("tau_cem = 0.95", "tau_cem = 0.9"), ("total_timesteps", "total_steps")],
)
def test_what_a_folder_holds_does_not_win_over_the_plan(tmp_path, old, new):
    path, out = plans.write(tmp_path / "a.toml"), tmp_path / "out"
    first = plans.planned_cells(path, out, 1)[0]
    run("--plan", path, "--out", out, "--only-seeds", 1)
    config = first.directory / "config.toml"
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))
    done = run("--plan", path, "--out", out, "--only-seeds", 1)
    assert (done.exit_code, "with other settings" in done.output) == (2, True)


def test_a_setting_that_a_later_version_adds_does_not_stop_a_study(tmp_path):
    path, out = plans.write(tmp_path / "a.toml"), tmp_path / "out"
    first = plans.planned_cells(path, out, 1)[0]
    run("--plan", path, "--out", out, "--only-seeds", 1)
    for file in (out / "plan.toml", first.directory / "config.toml"):  # as the version before wrote them
        assert "bias = true\n" in file.read_text()
        file.write_text(file.read_text().replace("bias = true\n", ""))
    digest = plan_hash(out)
    done = run("--plan", out / "plan.toml", "--only-seeds", 1)
    assert (done.exit_code, plan_hash(out)) == (0, digest), done.output


def test_a_folder_without_a_plan_has_no_hash(tmp_path):
    assert plan_hash(tmp_path) == ""
    with pytest.raises(UsageError):
        read_plan(tmp_path / "plan.toml")


@pytest.mark.parametrize("text", ['baseline = "td3"\nlooks = [5]\n', "format = 2\nseeds =\n"])
def test_a_folder_with_a_file_that_is_no_plan_is_refused_by_run_and_report(tmp_path, text):
    (tmp_path / "plan.toml").write_text(text)
    started = run("--algo", "cem", "--env", "Pendulum-v1", "--total-timesteps", 200, "--out", tmp_path)
    reported = CliRunner().invoke(cli, ["report", str(tmp_path), "--out", str(tmp_path / "report")])
    assert [started.exit_code, reported.exit_code] == [2, 2]
    assert str(tmp_path / "plan.toml") in started.stderr
    assert not (tmp_path / "Pendulum-v1").exists()
