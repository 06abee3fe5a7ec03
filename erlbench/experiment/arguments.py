"""The options of `erlbench run` from a command line, a Python call or a --config file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from erlbench.errors import nearest
from erlbench.experiment.cells import LOCAL, RunOptions
from erlbench.experiment.options import OPTIONS, TABLES, RunArguments
from erlbench.experiment.toml_file import TomlFile
from erlbench.machine.resources import cores
from erlbench.options import make_options
from erlbench.records.older import of_today


def arguments(given: Mapping[str, Any]) -> RunArguments:
    """The arguments from what the command line gave (the rest None or empty) over what its --config file gives."""
    path = given.get("config")
    values = _read_file(Path(OPTIONS["config"].check(path, "--config"))) if path else {}
    return make_options(RunArguments, given, values)


def run_options(asked: RunArguments, command_line: Sequence[str]) -> RunOptions:
    """How the cells are run on this machine."""
    from erlbench.experiment.study_cells import requested_studies, texts_to_add

    studies = requested_studies(asked)
    shared = asked.processes is None and asked.pool == LOCAL and not asked.slurm
    values = {item.name: value for item in fields(RunOptions) if (value := getattr(asked, item.name, None)) is not None}
    values |= {
        "processes": asked.processes if asked.processes is not None else 1 if asked.slurm else cores(),
        "per_node": asked.processes,
        "jobs": 1 if asked.jobs is None and not shared else asked.jobs,
        "worker_memory": asked.worker_memory and asked.worker_memory << 20,
        "studies": {study.name: study.sha256 for study in studies},
        "study_texts": texts_to_add(studies, asked),
        "verbosity": -1 if asked.quiet else int(asked.verbose),
        "command_line": tuple(command_line),
    }
    return RunOptions(**values)


def _read_file(path: Path) -> dict[str, Any]:
    """A --config file: options at the top or in [run], and the `TABLES`; a run's config.toml is one."""
    file, values = TomlFile(path), {}
    tables = of_today(file.data)
    known = [name for name in OPTIONS if name not in (*TABLES, "config")]
    top = {key: value for key, value in file.data.items() if key not in ("run", *TABLES.values())}
    if isinstance(top.get("costs"), dict):
        top["costs"] = str(path)  # the table of a run's config.toml
    for where, table in (((), top), (("run",), file.table(file.data.get("run", {}), ("run",)))):
        for key, value in table.items():
            name = key.replace("-", "_")
            if name == "seed":
                name, value = "seeds", [value]  # of a run's config.toml
            if name not in known:
                file.fail(f"unknown option '{key}'{nearest(name, known)}", (*where, key))
            if name == "workers" and value == 0:
                continue  # what config.toml says of algorithms that have none
            with file.at((*where, key)):
                values[name] = OPTIONS[name].check(value, f"'{key}'")
    return values | {option: file.table(tables.get(name, {}), (name,)) for option, name in TABLES.items()}
