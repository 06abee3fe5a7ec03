"""Results from others: a folder that no run wrote is left out by name, and no text of it is a command to anything."""

import csv
import json
import os
from pathlib import Path

import pandas as pd
import pytest

from erlbench.errors import ErlbenchError
from erlbench.reporting.cells import LEFT_OUT
from erlbench.reporting.options import PaperStyle
from tests.calls import call, python
from tests.files import edit_json
from tests.reporting.compare import read, write_report
from tests.reporting.make_runs import make_run

SCRIPT = "<script>document.title='taken over'</script><img src=x onerror=\"document.title='taken over'\">"
HOSTILE = (
    "=1+1", "+1+1", " -1+1", "@SUM(1)", "\x1b]0;taken over\x07\x1b[2J", "\\input{/etc/passwd}", SCRIPT, "|a|\n# b",
)  # fmt: skip
KINDS = ("a$b_{c$", "$\\frac{$", "\x1b[2J\x00", "-->", "<!--<script>", "a" * 3000)  # of tasks, which legends name


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])


def config(folder, *, env="Hopper-v5", name="td3", more=""):
    seed = int(folder.name[-3:])
    (folder / "config.toml").write_text(f'[run]\nenv = "{env}"\nname = "{name}"\nseed = {seed}\n{more}')


def special(path, make):
    path.unlink(missing_ok=True)
    make(path)


BAD = {
    "a name that commands the terminal": lambda run: config(run, env="\\u001b[2J"),
    "deep JSON": lambda run: (run / "status.json").write_text("[" * 50_000 + "]" * 50_000),
    "a number of 400 digits": lambda run: edit_json(run / "status.json", timesteps=int("9" * 400)),
    "a FIFO": lambda run: special(run / "eval.csv", os.mkfifo),
    "a folder": lambda run: special(run / "tasks.csv", Path.mkdir),
    "a sparse file of gigabytes": lambda run: os.truncate(run / "eval.csv", 3 << 30),
    "a long field": lambda run: (run / "eval.csv").open("a").write(f'9,9,9,9,9,9,9,9,9,9,9,9,"{"1" * 200_000}","1"\n'),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
def test_a_folder_that_no_run_wrote_is_left_out_by_name(tmp_path, run, bad):
    hostile = make_run(tmp_path / "results", "Hopper-v5", "td3", 3, [1.0, 2.0])
    bad(hostile)
    warnings = []
    with pytest.raises(ErlbenchError, match="is written; folders left out of it: 1;") as caught:
        write_report(tmp_path / "results", warnings.append)
    assert caught.value.exit_code == 1
    (left_out,) = [warning for warning in warnings if LEFT_OUT in warning]
    assert left_out.startswith(str(hostile))
    assert len(left_out) < 600
    assert left_out.isprintable()
    assert pd.read_csv(tmp_path / "report/cells.csv").seed.tolist() == [0]


def test_links_in_a_circle_are_walked_once(tmp_path, run):
    (tmp_path / "results/again").symlink_to(tmp_path / "results")
    (run.parent / "up").symlink_to(tmp_path)
    assert len(pd.read_csv(write_report(tmp_path / "results") / "cells.csv")) == 1
    shown = call("show", tmp_path / "results")
    assert shown.exit_code == 0
    assert shown.stdout.count("seed-000") == 1


@pytest.fixture
def hostile(tmp_path, run):
    """Results whose every text is an attack; the name and the environment are those of a run, or it is left out."""
    tasks = [(kind, 0, float(i), i + 1.0, 0) for i, kind in enumerate(KINDS)]
    for seed, text in enumerate(HOSTILE, 1):
        folder = make_run(
            tmp_path / "results", "Hopper-v5", "td3", seed, [1.0, 2.0], status="failed", message=text,
            starts=[{"cpu": text}], tasks=tasks,
        )  # fmt: skip
        edit_json(folder / "meta.json", command_line=text, commit=text, gpus=[text], python=text, versions={text: text})
        edit_json(folder / "status.json", updated=text)
        text = json.dumps(text)
        config(folder, more=f"workers = {text}\n[settings]\n{text} = {text}\n")
    make_run(tmp_path / "results", "Hopper-v5", "cem", 0, [1.0, 2.0], tasks=tasks)
    write_report(tmp_path / "results", paper=PaperStyle(), formats=("svg",))
    return tmp_path


def test_no_text_is_a_formula_commands_a_terminal_or_is_more_than_text_in_a_figure(hostile):
    files = [
        path for path in (hostile / "report").rglob("*") if path.suffix in (".csv", ".md", ".tex", ".html", ".svg")
    ]
    assert {path.suffix for path in files} == {".csv", ".md", ".tex", ".html", ".svg"}
    assert [path for path in files if path.suffix == ".svg" and path.name.startswith("curves")]
    for path in files:
        text = read(path)
        assert not {"\x1b", "\x07"} & set(text), path
        if path.suffix == ".csv":
            cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
            formulas = [cell for cell in cells if cell.lstrip()[:1] in ("=", "@") or cell in ("+1+1", " -1+1")]
            assert formulas == [], path
        elif path.suffix == ".tex":
            assert "\\input{" not in text, path
        elif path.suffix == ".md":
            assert "<script" not in text.replace("\\<script", ""), path
        elif path.suffix == ".svg":
            assert "a" * 200 not in text, path
    for folder in (hostile / "results", hostile / "results/Hopper-v5/td3/seed-005"):
        shown = call("show", folder)
        assert shown.exit_code == 0
        assert not {"\x1b", "\x07"} & set(shown.output)


def test_reading_results_imports_nothing_that_they_name(tmp_path):
    for side in ("one", "two"):
        run = make_run(tmp_path / side, "Hopper-v5", "td3", 0, [1.0, 2.0])
        config(run, env="trap:Trap-v0", more='algo = "trap"\n[settings]\nx = "trap:f"\n')
    (tmp_path / "trap.py").write_text("open('sprung', 'w').close()\n")
    for words in ("show one", "report one two --side-by-side --out report"):
        python("-m", "erlbench", *words.split(), cwd=tmp_path, check=True)
    assert not (tmp_path / "sprung").exists()
