"""The file of a plan: reading and checking it, writing it, and the hash of the one in a folder of results."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import tomli_w

from erlbench import files
from erlbench.errors import UsageError, nearest
from erlbench.experiment.cells import check_name, folder_name
from erlbench.experiment.costs import load_costs, rounded
from erlbench.experiment.plan import (
    FILE,
    FORMAT,
    TIMESTEPS,
    Contrast,
    Evaluation,
    Plan,
    PlannedCell,
    Simulated,
    Test,
    labelled,
)
from erlbench.experiment.toml_file import Keys, TomlFile
from erlbench.records.run import run_folders

PARTS = {"test": Test, "evaluation": Evaluation, "simulated_time": Simulated}
MOST_SEEDS = 10_000


def read_plan(path: Path) -> Plan:
    """The plan in a file of format 2. Raises `UsageError` with the line of what is wrong."""
    file = TomlFile(path)
    known = [item.name for item in fields(Plan)]
    if file.data.get("format") != FORMAT:
        file.fail(f"'format' must be {FORMAT}, that of plans that `erlbench run --plan` runs", ("format",))
    file.known(file.data, ["format", *known], ())
    values: dict[str, Any] = {name: value for name, value in file.data.items() if name not in ("format", "costs")}
    for name in ("cells", "contrasts"):
        if not isinstance(values.get(name), list) or not values[name]:
            file.fail(f"there are no [[{name}]]; a plan has one or more", (name,))
    given: dict[str, Any] = {
        name: file.build(kind, values[name], (name,)) if name in values else _default(kind, name, file)
        for name, kind in PARTS.items()
    }
    given["cells"] = tuple(
        labelled(file.build(PlannedCell, raw, ("cells", index))) for index, raw in enumerate(values["cells"])
    )
    given["contrasts"] = tuple(
        file.build(Contrast, raw, ("contrasts", index)) for index, raw in enumerate(values["contrasts"])
    )
    given["costs"] = _costs(file)
    plain = {name: value for name, value in values.items() if name not in given}
    plan: Plan = file.build(Plan, plain, (), **given)
    _check_cells(plan, file)
    _check_contrasts(plan, file)
    _check_test(plan, file)
    return plan


def costs_file(path: Path) -> Path | None:
    """The file with the costs of the plan in `path`: itself, or the one that it names; None for the built-in ones."""
    costs = files.read_toml(path).get("costs")
    return None if costs is None else path if isinstance(costs, dict) else path.parent / str(costs)


def plan_text(plan: Plan) -> str:
    """The plan as its file holds it."""
    return tomli_w.dumps(plan.tables(), multiline_strings=True)


def plan_hash(folder: Path) -> str:
    """The hash of the plan in a folder of results; empty without one. A file that is no plan has that of its bytes."""
    path = folder / FILE
    try:
        return read_plan(path).hash
    except UsageError:
        pass  # it is no plan any more, and so has another hash than it had
    try:
        return hashlib.sha256(files.read_bytes(path, files.SMALL)).hexdigest()
    except (OSError, ValueError):
        return ""


def check_new(folder: Path) -> None:
    """Raise `UsageError` where a plan or a run lies in the folder already: a plan comes first, and once."""
    if (folder / FILE).exists():
        raise UsageError(f"{folder} is under another plan ({folder / FILE}); choose another folder")
    if run_folders(folder):
        raise UsageError(f"{folder} holds runs already, and a plan comes before the first run; choose another folder")


def lay(text: str, folder: Path) -> None:
    """Put the text of a resolved plan into a folder of results, unless the plan lies there as a whole."""
    path = folder / FILE
    if path.exists() and read_plan(path).resolved:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(files.new_file(path), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {files.reason(error)}") from error


def _costs(file: TomlFile) -> dict[str, Any] | None:
    """The table of costs, rounded as runs have them; None where the file has none."""
    table = file.data.get("costs", "")
    if "costs" in file.data and "simulated_time" not in file.data:
        file.fail("[costs] needs [simulated_time]", ("costs",))
    if not isinstance(table, str | dict):
        file.fail("'costs' must be a table, or the name of a file", ("costs",))
    if isinstance(table, str):
        return None
    load_costs(file.path)
    return rounded(table)


def _default(kind: type[Any], name: str, file: TomlFile) -> Any:
    """The part that a file leaves out; None for no simulated time."""
    if any(item.default is MISSING and item.default_factory is MISSING for item in fields(kind)):
        file.fail(f"there is no table [{name}]", ())
    return None if kind is Simulated else kind()


def _check_cells(plan: Plan, file: TomlFile) -> None:
    if not 2 <= plan.seeds <= MOST_SEEDS:
        file.fail(f"'seeds' is the number of seeds, 2 to {MOST_SEEDS:,}, not {plan.seeds}", ("seeds",))
    labels: set[str] = set()
    folders: dict[tuple[str, str], str] = {}
    for index, cell in enumerate(plan.cells):
        where: Keys = ("cells", index)
        if cell.label in labels:
            file.fail(f"two cells have the label '{cell.label}'; give one of them another", (*where, "label"), where)
        labels.add(cell.label)
        if cell.set and cell.settings:
            file.fail("a cell has `set` or `settings`, not both", (*where, "settings"), where)
        if cell.total_timesteps is None and cell.total_minutes is None:
            file.fail(f"'{cell.label}' has no budget; give total_timesteps or total_minutes", where)
        if cell.total_minutes is not None and (plan.simulated_time is None or not cell.total_minutes):
            file.fail("total_minutes must be above 0, and needs [simulated_time]", (*where, "total_minutes"))
        if cell.name:
            with file.at((*where, "name")):
                check_name(cell.name, "'name'")
        folder = folder_name(cell.env), cell.name or cell.algo
        if folder in folders:
            message = f"'{cell.label}' and '{folders[folder]}' share a folder; give one of them a `name`"
            file.fail(message, where)
        folders[folder] = cell.label


def _check_contrasts(plan: Plan, file: TomlFile) -> None:
    labels = [cell.label for cell in plan.cells]
    for index, contrast in enumerate(plan.contrasts):
        where: Keys = ("contrasts", index)
        for side, label in (("a", contrast.a), ("b", contrast.b)):
            if label not in labels:
                hint = nearest(label, labels) or f"; there are {', '.join(labels)}"
                file.fail(f"'{side}' is '{label}', which is no cell{hint}", (*where, side))
            with file.at((*where, "stretch")):
                _check_stretch(contrast, plan.cell(label), plan.evaluation.eval_freq)
        if contrast.a == contrast.b:
            file.fail(f"the contrast compares '{contrast.a}' with itself", (*where, "b"))
        same = [(other.a, other.b, other.axis, other.stretch) for other in plan.contrasts[:index]]
        if (contrast.a, contrast.b, contrast.axis, contrast.stretch) in same:
            file.fail(f"the contrast '{contrast.title}' is there twice", where)


def _check_stretch(contrast: Contrast, cell: PlannedCell, eval_freq: int) -> None:
    start, end = contrast.stretch
    if not 0 <= start < end:
        raise UsageError(f"'stretch' must be two numbers from 0 on, the smaller one first, not {start:g} and {end:g}")
    budget = cell.total_timesteps if contrast.axis == TIMESTEPS else cell.total_minutes
    if budget is None:
        raise UsageError(f"'{cell.label}' has no budget of {contrast.axis}, so nobody knows whether it gets to {end:g}")
    # The final evaluation does not count, and the one before may lie an interval before the end.
    if (end + eval_freq > budget) if contrast.axis == TIMESTEPS else (end >= budget):
        least = f"at least {end + eval_freq:,.0f}" if contrast.axis == TIMESTEPS else f"above {end:g}"
        raise UsageError(
            f"the stretch ends at {end:,g} {contrast.axis}, and the curve of '{cell.label}' may end before; "
            f"its budget must be {least}, not {budget:,g}"
        )


def _check_test(plan: Plan, file: TomlFile) -> None:
    looks = plan.test.looks
    if not looks or looks[0] < 2 or any(a >= b for a, b in itertools.pairwise(looks)):
        file.fail("'looks' must be increasing numbers of seeds from 2 on, such as [6, 12]", ("test", "looks"))
    if looks[-1] != plan.seeds:
        beyond = "beyond" if looks[-1] > plan.seeds else "before"
        message = f"the last look is after {looks[-1]} seeds, {beyond} the study's {plan.seeds}; it must have all seeds"
        file.fail(message, ("test", "looks"))
