"""Results from others: a folder that no run wrote is left out by name, and no text of it is a command to anything."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import COMMANDS, cli
from erlbench.errors import ErlbenchError
from erlbench.reporting import build_report
from erlbench.reporting.cells import LEFT_OUT
from erlbench.reporting.documents import csv_value
from erlbench.reporting.options import PaperStyle, ReportOptions
from tests.reporting.make_runs import make_run

SCRIPT = "<script>document.title='taken over'</script><img src=x onerror=\"document.title='taken over'\">"
HOSTILE = (
    "=1+1", "+1+1", "-1+1", "@SUM(1)", "\x1b]0;taken over\x07\x1b[2J", "\\input{/etc/passwd}", SCRIPT, "|a|\n# b",
)  # fmt: skip


def invoke(*words: object):
    return CliRunner().invoke(cli, [str(word) for word in words])


def edit(folder: Path, name: str, **values: object) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def config(folder: Path, text: str) -> None:
    (folder / "config.toml").write_text(text)


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def sparse(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(3 << 30)


BAD = {
    "mathtext in the name": lambda run: config(run, '[run]\nenv = "Hopper-v5"\nname = "a$b_{c$"\nseed = 3\n'),
    "a long name": lambda run: config(run, f'[run]\nenv = "Hopper-v5"\nname = "{"a" * 5000}"\nseed = 3\n'),
    "a long environment": lambda run: config(run, f'[run]\nenv = "{"a" * 5000}"\nname = "td3"\nseed = 3\n'),
    "a name that commands the terminal": lambda run: config(run, '[run]\nenv = "\\u001b[2J"\nname = "x"\nseed = 3\n'),
    "deep TOML": lambda run: config(run, f"x = {'[' * 5000}{']' * 5000}\n"),
    "deep JSON": lambda run: (run / "status.json").write_text("[" * 50_000 + "]" * 50_000),
    "a number of 400 digits": lambda run: edit(run, "status.json", timesteps=int("9" * 400)),
    "a FIFO for a configuration": lambda run: fifo(run / "config.toml"),
    "a FIFO for evaluations": lambda run: fifo(run / "eval.csv"),
    "a device for a status": lambda run: link(run / "status.json", "/dev/zero"),
    "a device for generations": lambda run: link(run / "train.csv", "/dev/zero"),
    "a folder for tasks": lambda run: (run / "tasks.csv").unlink(missing_ok=True) or (run / "tasks.csv").mkdir(),
    "a sparse file of gigabytes": lambda run: sparse(run / "eval.csv"),
    "a long field": lambda run: (run / "eval.csv").open("a").write(f'9,9,9,9,9,9,9,9,9,9,9,9,"{"1" * 200_000}","1"\n'),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
def test_a_folder_that_no_run_wrote_is_left_out_by_name(tmp_path, bad):
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    hostile = make_run(tmp_path / "results", "Hopper-v5", "td3", 3, [1.0, 2.0])
    bad(hostile)
    warnings = []
    with pytest.raises(ErlbenchError, match="is written; folders left out of it: 1;") as caught:
        build_report([tmp_path / "results"], tmp_path / "report", {}, None, warnings.append)
    assert caught.value.exit_code == 1
    (left_out,) = [warning for warning in warnings if LEFT_OUT in warning]
    assert left_out.startswith(str(hostile))
    assert len(left_out) < 600
    assert left_out.isprintable()
    with open(tmp_path / "report" / "cells.csv") as file:
        assert [row["seed"] for row in csv.DictReader(file)] == ["0"]


def test_links_in_a_circle_are_walked_once(tmp_path):
    run = make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    (tmp_path / "results" / "again").symlink_to(tmp_path / "results")
    (run.parent / "up").symlink_to(tmp_path)
    build_report([tmp_path / "results"], tmp_path / "report", {}, None, lambda message: None)
    with open(tmp_path / "report" / "cells.csv") as file:
        assert len(list(csv.DictReader(file))) == 1
    shown = invoke("show", tmp_path / "results")
    assert shown.exit_code == 0
    assert shown.stdout.count("seed-000") == 1


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2025-01-01"])
def test_a_time_that_no_clock_shows_is_printed_as_it_is(tmp_path, time):
    edit(make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0]), "status.json", updated=time)
    index = build_report([tmp_path / "results"], tmp_path / "report", {}, None, lambda message: None)
    assert time in index.with_suffix(".md").read_text()


@pytest.fixture
def hostile(tmp_path):
    """Results whose every text is an attack; the name and the environment are those of a run, or it is left out."""
    for seed, text in enumerate(HOSTILE):
        run = make_run(
            tmp_path / "results", "Hopper-v5", "td3", seed, [1.0, 2.0], status="failed", message=text, cpu=text
        )
        edit(run, "meta.json", command_line=text, commit=text, gpus=[text], python=text, versions={text: text})
        edit(run, "status.json", updated=text)
        config(run, f'[run]\nenv = "Hopper-v5"\nname = "td3"\nseed = {seed}\nworkers = {json.dumps(text)}\n[settings]\n'
               f"{json.dumps(text)} = {json.dumps(text)}\n")  # fmt: skip
    make_run(tmp_path / "results", "Hopper-v5", "td3", 20, [1.0, 2.0])
    options = ReportOptions(paper=PaperStyle())
    build_report([tmp_path / "results"], tmp_path / "report", {}, None, lambda message: None, options)
    return tmp_path


def test_no_cell_of_a_csv_file_is_a_formula_and_no_text_commands_a_terminal(hostile):
    files = [path for path in (hostile / "report").rglob("*") if path.suffix in (".csv", ".md", ".tex", ".html")]
    assert {path.suffix for path in files} == {".csv", ".md", ".tex", ".html"}
    for path in files:
        text = path.read_text()
        assert "\x1b" not in text, path
        assert "\x07" not in text, path
        if path.suffix == ".csv":
            with open(path, newline="") as file:
                cells = [one for row in csv.reader(file) for one in row]
            formulas = [one for one in cells if one.lstrip()[:1] in ("=", "@") or one in ("+1+1", "-1+1")]
            assert formulas == [], path
        elif path.suffix == ".tex":
            assert "\\input{" not in text, path
        elif path.suffix == ".md":
            assert "<script" not in text.replace("\\<script", ""), path
    for words in (["show", hostile / "results"], ["show", hostile / "results" / "Hopper-v5" / "td3" / "seed-004"]):
        result = invoke(*words)
        assert result.exit_code == 0
        assert "\x1b" not in result.output
        assert "\x07" not in result.output


def test_a_cell_that_begins_a_formula_is_shown_as_text():
    assert [csv_value(value) for value in ("=1", " +x", "-x", "@x", "x=1", -1.5, 2)] == [
        "'=1", "' +x", "'-x", "'@x", "x=1", -1.5, 2,
    ]  # fmt: skip


IN_FIGURES = ("a$b_{c$", "$\\frac{$", "\x1b[2J\x00", "-->", "<b>&", "a" * 3000)


def test_texts_in_figures_are_text(tmp_path):
    """Kinds of tasks, which legends name: no mathematics, no controls, no endless words."""
    tasks = [(kind, 0, float(i), i + 1.0, 0) for i, kind in enumerate(IN_FIGURES)]
    run = make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0], tasks=tasks)
    assert (run / "tasks.csv").is_file()
    options = ReportOptions(formats=("svg",))
    page = build_report([tmp_path / "results"], tmp_path / "report", {}, None, pytest.fail, options)
    assert page.is_file()
    drawn = sorted((tmp_path / "report").rglob("*.svg"))
    assert [path for path in drawn if "timeline" in path.name or "utilisation" in path.name]
    for path in drawn:
        text = path.read_text()
        assert "\x1b" not in text
        assert "a" * 200 not in text


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_the_page_runs_no_script_of_the_results(hostile):
    chromium = shutil.which("chromium")
    assert chromium is not None
    page = (hostile / "report" / "index.html").as_uri()
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={hostile / 'profile'}")
    options = (*options, "--virtual-time-budget=3000", "--dump-dom")
    result = subprocess.run([chromium, *options, page], capture_output=True, text=True, timeout=120, check=True)
    assert "&lt;script&gt;document.title=" in result.stdout  # it is there, as text
    assert "<title>taken over" not in result.stdout
    assert 'src="x"' not in result.stdout


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_a_kind_of_task_switches_no_chart_off(tmp_path):
    """Within a script, `<!--<script>` would have the rest of the page belong to it."""
    found = {}
    for kind in ("rollout", "<!--<script>"):
        folder = tmp_path / ("a" if kind == "rollout" else "b")
        tasks = [(kind, 0, float(i), i + 1.0, 0) for i in range(5)]
        make_run(folder / "results", "Hopper-v5", "td3", 0, [1.0, 2.0], tasks=tasks)
        page = build_report([folder / "results"], folder / "report", {}, None, lambda message: None)
        options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}")
        command = ["chromium", *options, "--virtual-time-budget=5000", "--dump-dom", page.as_uri()]
        dumped = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
        found[kind] = dumped.count("js-plotly-plot")
    assert found["<!--<script>"] == found["rollout"] > 0


@pytest.mark.parametrize("command", [name for name in ("show", "report", "verify") if name in COMMANDS])
def test_reading_results_imports_nothing_that_they_name(tmp_path, command):
    for side in ("one", "two"):
        run = make_run(tmp_path / side, "Hopper-v5", "td3", 0, [1.0, 2.0])
        config(run, '[run]\nenv = "trap:Trap-v0"\nalgo = "trap"\nname = "td3"\nseed = 0\n[settings]\nx = "trap:f"\n')
    (tmp_path / "trap.py").write_text("open('sprung', 'w').close()\n")
    out = ["two", "--side-by-side", "--out", "report"] if command == "report" else []
    program = [sys.executable, "-m", "erlbench", command, "one", *out]
    result = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in result.stderr
    assert result.returncode == 0 or command == "verify"
    assert not (tmp_path / "sprung").exists()
