"""Attacks by a run's own files: what is called, opened, named, played, shown and believed."""

from __future__ import annotations

import json
import random
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomli_w
from click import Command, Context, Option

from erlbench.cli import cli
from erlbench.experiment.cells import Cell
from tests.campaign.damage import ACTS
from tests.campaign.strangers.place import Attack, Place
from tests.campaign.trials import check, write_config
from tests.forgery import dataclasses, forge, tasks

FILES = (
    "config.toml", "status.json", "meta.json", "eval.csv", "episodes.csv", "tasks.csv", "train.csv", "events.csv",
    "policy.safetensors", "lock",
)  # fmt: skip
TARGETS = ("thesis.tex", ".bashrc", "notes.csv", "nowhere/at/all", "folder", "folder/kept.txt", "folder/new.txt")


class Runs:
    """The runs that attacks copy: a finished one, and one that was interrupted."""

    def __init__(self, done: Cell, half: Cell) -> None:
        self.done, self.half = done, half

    def continuing(self, place: Place, cell: Cell) -> list[object]:
        """The command that goes on with a copy of a cell."""
        config = write_config(cell, place.folder / "cell.toml")
        words = f"run --config {config} --out {place.results} --processes 0 --device cpu --anyway"
        return [*words.split()]


def edit_config(run: Path, table: str, **values: Any) -> None:
    """Write other values into a table of config.toml."""
    path = run / "config.toml"
    config = tomllib.loads(path.read_text())
    path.write_text(tomli_w.dumps({**config, table: {**config.get(table, {}), **values}}))


def within(command: str, seconds: int) -> list[object]:
    """The option that bounds a command, where it has one."""
    known = {name for one in _command(command).params if isinstance(one, Option) for name in one.opts}
    return ["--seconds", seconds] if "--seconds" in known else []


def _command(name: str) -> Command:
    found = cli.get_command(Context(cli), name)
    assert found is not None
    return found


def somewhere(place: Place, draw: random.Random) -> Path:
    return place.outside / draw.choice(TARGETS)


# -- 1: code and paths of a checkpoint --------------------------------------------------------------------------------

CODE = (
    "cProfile:runctx", "cProfile:run", "os:system", "os:popen", "os:remove", "os:mkdir", "subprocess:call", "pty:spawn",
    "subprocess:Popen", "runpy:run_path", "shutil:rmtree", "builtins:exec", "builtins:eval", "timeit:timeit", "pdb:run",
    "code:interact", "builtins:open", "erlbench.work.rollout:play", "erlbench.work.workspace:task_function",
    "erlbench.files:new_file", "erlbench.algorithms.search.evolution_strategy:noise_sum", "trace:main", "bdb:Bdb",
    "erlbench.algorithms.gradients.updates:update_td3", "erlbench.work.preparation:prepare", "", ":", "x", "a:b:c",
)  # fmt: skip
KINDS = ("EnvSpec", "PolicySpec", "RolloutSettings", "ArrayRef", "Perturbed", "Task")
OTHERS = ("subprocess:Popen", "pathlib:Path", "erlbench.experiment.cells:Cell", "erlbench.running.run:Command",
          "erlbench.work.tasks:Result", "erlbench.envs.registry:EnvSpec", "erlbench.pool.options:PoolOptions",
          "x", "")  # fmt: skip
FIELDS = (
    ("EnvSpec", "id", ("trap:Trap-v0", "os:path", "../x:Y-v0", "Pendulum-v1", 7)),
    ("EnvSpec", "max_episode_steps", (10**12, -1, "x", None)),
    ("EnvSpec", "kwargs", ({"$dict": [["frame_skip", 10**9]]}, {"$dict": [["xml_file", "/dev/zero"]]}, [])),
    ("PolicySpec", "sizes", ({"$tuple": [4, 10**9, 1]}, {"$tuple": []}, "x", {"$tuple": [-1]})),
    ("ArrayRef", "shape", ({"$tuple": [10**12]}, [3], "x", {"$tuple": ["x"]})),
    ("ArrayRef", "dtype", ("object", "float64", "O", "", 3, "S1000000")),
    ("RolloutSettings", "episodes", ("x", 1.5, None, [])),
    ("RolloutSettings", "seeds", ("x", {"$tuple": ["x"]}, 5)),
    ("Perturbed", "key", ({"$tuple": ["x"]}, "x", 3)),
    ("Task", "inputs", ("x", {"$dict": [["parameters", "/etc/passwd"]]}, 7)),
    ("Task", "id", ("x", None, 1.5)),
    ("Task", "after", ({"$tuple": ["x"]}, "x")),
)  # fmt: skip


def code(place: Place, runs: Runs, draw: random.Random) -> Attack:
    """A checkpoint that names a function, a class, a file, an environment or a value that the command does not."""
    run = place.copy(runs.half.directory)
    sprung = f"{place.sprung}"
    settings = (f"open({sprung!r}, 'w')", f"touch {sprung}", sprung, {"$tuple": ["touch", sprung]}, [sprung], None)
    way = draw.randrange(5)
    if way == 0:
        name, given = draw.choice(CODE), draw.choice(settings)
        inputs = draw.choice([{"$dict": []}, None])
        what = f"the function {name!r} with {given!r}"

        def edit(payload: Any) -> None:
            for task in tasks(payload):
                task["function"] = name
                task |= {} if given is None else {"settings": given}
                task |= {} if inputs is None else {"inputs": inputs, "key": {"$dict": []}}
    elif way == 1:
        kind = draw.choice(KINDS)
        name = draw.choice([name for name in OTHERS if not name.endswith(f":{kind}")])
        what = f"the class {name!r} for {kind}"

        def edit(payload: Any) -> None:
            for one in dataclasses(payload, f":{kind}"):
                one["$type"] = name
    elif way == 2:
        kind, name, values = draw.choice(FIELDS)
        value = draw.choice(values)
        what = f"{kind}.{name} = {value!r}"

        def edit(payload: Any) -> None:
            for one in dataclasses(payload, f":{kind}"):
                one["fields"][name] = value
    elif way == 3:
        path = draw.choice(["/etc/passwd", f"{place.outside / 'thesis.tex'}", "../../x", "lock", "", ".", "..",
                            f"1.x/../../{'../' * draw.randrange(9)}x", "replays/replay", "1.\0",
                            "9" * 300])  # fmt: skip
        what = f"the array {path!r}"

        def edit(payload: Any) -> None:
            for one in dataclasses(payload, ":ArrayRef"):
                one["fields"]["name"] = path
    else:
        part = draw.choice(["algorithm", "outstanding", "evaluation", "replay", "clock", "files", "pool"])
        value = draw.choice([[], {"$dict": []}, "x", None, 7, {"$type": "os:path", "fields": {}}, {"$tuple": [1]}])
        what = f"the part {part} = {value!r}"

        def edit(payload: Any) -> None:
            for pair in payload["$dict"]:
                if pair[0] == part:
                    pair[1] = value

        if (part, json.dumps(value)) in (("outstanding", "[]"), ("pool", '{"$dict": []}')):
            return code(place_again(place, run), runs, draw)  # what a run may write
    forge(run, edit)
    command = runs.continuing(place, runs.half)
    return Attack(
        finding=1, what=what, commands=[["show", run], command], own=[run], refused=False, names=[run],
        after=lambda output: check("cannot be used" in output, f"finding 1, {what}: not refused: {output[-900:]}"),
    )  # fmt: skip


def place_again(place: Place, run: Path) -> Place:
    """The place without the run, for another draw."""
    shutil.rmtree(place.results)
    assert not run.exists()
    return place


# -- 2: what a report removes and overwrites --------------------------------------------------------------------------


def manifest(place: Place, runs: Runs, draw: random.Random) -> Attack:
    """A report's folder with a list of files of others, or with links."""
    place.copy(runs.done.directory)
    report, other = place.work / "report", place.work / "others"
    report.mkdir()
    shutil.copytree(place.results, other)
    victim = place.outside / draw.choice(["thesis.tex", ".bashrc", "notes.csv", "folder/kept.txt"])
    own: list[Path] = [report]
    if draw.random() < 0.6:
        text = draw.choice([
            f"{victim}", f"../../outside/{victim.relative_to(place.outside)}", f"a/../../../outside/{victim.name}",
            f"//{victim}", f"./../../outside/{victim.name}", f"link/{victim.name}", "mine.csv",
        ])  # fmt: skip
        if text.startswith("link/"):
            (report / "link").symlink_to(victim.parent)
        (report / "mine.csv").write_text("mine\n")
        line = draw.choice(["", "5:2b2e6b0f ", f"{victim.stat().st_size}:00000000 "]) + text
        (report / ".erlbench-report").write_text(f"index.html\n{line}\n" * draw.randint(1, 3))
        what = f"the list has {line!r}"

        def after(output: str) -> None:
            check((report / "mine.csv").exists(), f"finding 2, {what}: report/mine.csv was removed")
    else:
        name = draw.choice(["index.html", "index.md", "cells.csv", ".erlbench-report", "all/index.md", "report.css"])
        (report / name).parent.mkdir(exist_ok=True)
        if name != ".erlbench-report":
            (report / ".erlbench-report").write_text("")
        (report / name).symlink_to(victim)
        what = f"{name} is a link"

        def after(output: str) -> None:
            check((report / name).is_symlink(), f"finding 2, {what}: the link is gone")

    words = draw.choice([["report", place.results], ["report", place.results, other, "--side-by-side"]])
    return Attack(
        finding=2, what=f"{what} ({words[0]})", commands=[[*words, "--out", report]], own=own, names=[report],
        after=after,
    )  # fmt: skip


# -- 3: names ---------------------------------------------------------------------------------------------------------


def names(place: Place, runs: Runs, draw: random.Random) -> Attack:
    """A name, an environment or a seed in config.toml that leads out of a folder."""
    run = place.copy(runs.done.directory)
    evil = draw.choice([
        "../" * draw.randint(1, 9) + "evil", f"{place.outside / 'evil'}", f"a/{'../' * draw.randint(2, 9)}evil", "..",
        ".", "-rf", "~/evil", "a/b", "a\nb", "a\\..\\b", "x" * draw.randint(201, 5000), "\x1b[2J", "*", "$(touch evil)",
        "`id`", "a\0b", "|cat", "&x", "<x>", "'", '"', "#", "?", ";", "evil/", "/",
    ])  # fmt: skip
    key = draw.choice(["name", "name", "name", "env"])
    if key == "env" and evil in ("a/b", "evil/"):
        evil = "../evil"
    edit_config(run, "run", **{key: evil})
    out, target = place.work / "exported", draw.choice(["csv", "sb3", "tensorboard", "rliable"])
    commands = [["convert", place.results, "--to", target, "--out", out]]
    commands += draw.choice([[["show", run]], [["verify", run]], [["play", run, "--no-video"]], [["show", run]]])
    return Attack(
        finding=3, what=f"{key} = {evil[:60]!r}, {target}", commands=commands, own=[out], refused=True, names=[run],
    )  # fmt: skip


# -- 5: links ---------------------------------------------------------------------------------------------------------


def links(place: Place, runs: Runs, draw: random.Random) -> Attack:
    """A link in a run's folder to a file or a folder of the user, or to a device."""
    half = draw.random() < 0.5
    cell = runs.half if half else runs.done
    run = place.copy(cell.directory)
    folders = [path.name for path in run.iterdir() if path.is_dir()]
    deep = [str(path.relative_to(run)) for path in run.rglob("*") if path.is_file() and path.parent != run]
    name = draw.choice([
        *FILES, *(f"{one}.part" for one in FILES), *folders, *folders, *(deep or FILES[:1]), "policies/part",
        "error.txt", "error.txt.part", "replay/observations.f32", "checkpoint/part-000003", "lease-000099", "more",
        "policies",
    ])  # fmt: skip
    path = run / name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    target = draw.choice([somewhere(place, draw), somewhere(place, draw), Path("/dev/zero"), Path("/"), path])
    path.symlink_to(target)
    own: list[Path] = []
    commands = [draw.choice([
        ["show", run], ["show", place.results], ["verify", run, *within("verify", 8)],
        ["play", run, "--no-video", "--steps", 3, *within("play", 8)],
        ["convert", place.results, "--to", "sb3", "--out", place.work / "exported"],
    ])]  # fmt: skip
    own += [place.work / "exported"]
    foreign = draw.random() < 0.2
    if foreign:  # the time of the file system is asked for
        import os
        import platform

        (run / "lease-000007").write_text(json.dumps({"host": "far", "pid": 7, "started": "1", "boot": "b"}))
        status = json.loads((run / "status.json").read_text()) if (run / "status.json").is_file() else {}
        if name != "status.json":
            (run / "status.json").write_text(json.dumps(status | {"status": "running"}))
        for pid in range(os.getpid(), os.getpid() + 400):
            (run / f"lease.time-{platform.node()}-{pid}").symlink_to(place.outside / "notes.csv")
        commands = [["show", place.results]]
    else:
        commands.append(runs.continuing(place, cell))
        # The run may be refused, or go on in its own folder; its links stay what they are, and so do their targets.
        own += [run]

    def after(output: str) -> None:
        gone = not path.is_symlink() and not name.endswith(".part") and not foreign
        check(not gone, f"finding 5, {name}: the link was replaced")

    return Attack(
        finding=5, what=f"{name} -> {target}{' under a foreign lease' if foreign else ''}", commands=commands, own=own,
        names=[run], after=after,
    )  # fmt: skip


# -- 6: settings ------------------------------------------------------------------------------------------------------


def settings(place: Place, runs: Runs, draw: random.Random) -> Attack:
    """Settings and rows that ask for endless steps."""
    run = place.copy(runs.done.directory)
    big = draw.choice([10**8, 10**9, 10**9, 2**31 - 1, 2**31 - 1, 2**40, 2**62])
    match draw.randrange(4):
        case 0 | 1:
            edit_config(run, "env_settings", frame_skip=big)
            what = f"frame_skip = {big}"
        case 2:
            edit_config(run, "env_settings", max_episode_steps=big)
            _lengths(run, draw.choice([big, 10**7]))
            what = f"max_episode_steps and lengths {big}"
        case _:
            edit_config(run, "run", env="erlbench/Latency-v0", seed=draw.randrange(9))
            edit_config(run, "env_settings", **{draw.choice(["latency", "step_s", "max_episode_steps"]): big})
            what = f"another environment with {big}"
    words = draw.choice([
        ["verify", run, *within("verify", 4)], ["play", run, "--no-video", "--episodes", 3, *within("play", 4)],
        ["verify", place.results, "--processes", 1, *within("verify", 4)],
    ])  # fmt: skip
    return Attack(finding=6, what=what, commands=[words])


def _lengths(run: Path, length: int) -> None:
    """Rows of eval.csv with such lengths."""
    path = run / "eval.csv"
    head, *rows = path.read_text().splitlines()
    place = head.split(",").index("lengths")
    lines = [row.split(",") for row in rows]
    for cells in lines:
        cells[place] = " ".join([str(length)] * len(cells[place].split()))
    path.write_text("\n".join([head, *map(",".join, lines)]) + "\n")


# -- 7: the page ------------------------------------------------------------------------------------------------------

MARKUP = ("<!--<script>", "</script>", "<script>", "<!--", "-->", "<img src=x onerror=alert(1)>", "]]>",
          "<svg/onload=x>", "{{x}}", "</title>", "<style>", "&lt;", "javascript:x", "<a href=//x>")  # fmt: skip


def page(place: Place, runs: Runs, draw: random.Random) -> Attack:
    """Markup in kinds of tasks, messages and machines."""
    run = place.copy(runs.done.directory)
    text = "".join(draw.choice(MARKUP) for _ in range(draw.randint(1, 3)))
    where = draw.choice(["kind", "message", "cpu"])
    if where == "kind":
        path = run / "tasks.csv"
        path.write_text(re.sub(r"(?m)^(\d+),\w+,", lambda found: f"{found[1]},{text},", path.read_text()))
    else:
        file = run / ("status.json" if where == "message" else "meta.json")
        file.write_text(json.dumps(json.loads(file.read_text()) | {where: text, "status": "failed", "gpus": [text]}))
    out = place.work / "report"

    def after(output: str) -> None:
        html = (out / "index.html").read_text()
        data = html.split('id="data">', 1)[1].split("</script>", 1)[0]
        check("<" not in data, f"finding 7, {text!r}: a < in the data of the page")
        json.loads(data)
        own = [part for part in MARKUP if "=" in part and part in html.replace(data, "")]  # no page of ours has them
        check(not own, f"finding 7, {text!r}: {own} in the page")

    return Attack(
        finding=7, what=f"{where} = {text!r}", commands=[["report", place.results, "--out", out]], own=[out],
        names=[place.results], after=after,
    )  # fmt: skip


# -- 8: scores --------------------------------------------------------------------------------------------------------


def scores(place: Place, runs: Runs, draw: random.Random) -> Attack:
    """Scores that were edited in agreement with themselves."""
    run = place.copy(runs.done.directory)
    path = run / "eval.csv"
    head, *rows = path.read_text().splitlines()
    names_ = head.split(",")
    number = draw.randrange(len(rows)) if draw.random() < 0.5 else len(rows) - 1
    cells = rows[number].split(",")
    value = float(draw.randint(5000, 99999))
    count = len(cells[names_.index("returns")].split())
    cells[names_.index("returns")] = " ".join([str(value)] * count)
    cells[names_.index("return_mean")], cells[names_.index("return_std")] = str(value), "0.0"
    rows[number] = ",".join(cells)
    path.write_text("\n".join([head, *rows]) + "\n")
    if draw.random() < 0.5:
        status = run / "status.json"
        status.write_text(json.dumps(json.loads(status.read_text()) | {"return_mean": value}))
    out = place.work / "report"
    words = draw.choice([["report", place.results], ["report", place.results, run.parent, "--side-by-side"]])

    def after(output: str) -> None:
        check("edited" in " ".join(output.split()), f"finding 8, row {number}: no word: {output[-500:]}")
        cells_ = (out / "cells.csv").read_text()
        check("altered" in cells_, f"finding 8, row {number}: the cell does not say so: {cells_[-500:]}")

    return Attack(
        finding=8, what=f"{words[0]}, row {number} is {value}", commands=[[*words, "--out", out]], own=[out],
        names=[place.results], after=after,
    )  # fmt: skip


# -- 9: commands that had not been attacked ---------------------------------------------------------------------------

VALUES = (None, [], {}, "x", "", -1, 1e308, float("nan"), True, [[1]], "\x1b[31m", 2**62, "9" * 400,
          {"a": {"b": []}},           "../../x", "/etc/passwd", "a:b", "os:system", 10**15)  # fmt: skip


def others(place: Place, runs: Runs, draw: random.Random) -> Attack:
    """Damage and wrong meaning before play, compare, tune and new."""
    run = place.copy(runs.done.directory)
    act: Callable[[Path, random.Random], None] = draw.choice(ACTS)
    if draw.random() < 0.5:
        path = draw.choice([path for path in run.rglob("*") if path.is_file() and path.name != "lock"])
        act(path, draw)
        what = f"{act.__name__} of {path.relative_to(run)}"
    else:
        table, value = draw.choice(["run", "settings", "env_settings"]), draw.choice(VALUES[1:])
        config = tomllib.loads((run / "config.toml").read_text())
        key = draw.choice(sorted(config.get(table) or {"frame_skip": 0}))
        edit_config(run, table, **{key: value})
        what = f"{table}.{key} = {value!r:.40}"
    film, exported = place.work / "a.gif", place.work / "tuned"
    own = [exported]
    if draw.random() < 0.3:
        film.symlink_to(place.outside / "notes.csv")
        what += f", {film.name} is a link"
    else:
        own.append(film)
    commands = {
        "play": ["play", run, "--no-video", "--steps", 3, *within("play", 8)],
        "film": ["play", run, "--video", film, "--steps", 2, *within("play", 8)],
        "report": ["report", place.results, run.parent, "--side-by-side", "--out", exported],
        "new": ["new", "algorithm", "my-search", "--out", exported],
        "tune": ["tune", "--algo", "cem", "--env", "InvertedPendulum-v5", "--search", "elites=1:2", "--trials", 1,
                 "--total-timesteps", 60, "--set", "population=2", "--out", exported, "--processes", 0],
    }  # fmt: skip
    name = draw.choice(sorted(commands))
    if name in ("new", "tune"):
        exported.mkdir()
        (exported / draw.choice(["optuna.db", "best.toml", "trial-000", "lock", "x"])).symlink_to(
            somewhere(place, draw)
        )
    return Attack(finding=9, what=f"{name}, {what}", commands=[commands[name]], own=own)
