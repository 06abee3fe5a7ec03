"""The options of `erlbench run` from a command line, a Python call or a --config file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from erlbench.errors import UsageError, nearest
from erlbench.experiment import shards
from erlbench.experiment.cells import HUNG_AFTER, RunOptions
from erlbench.experiment.claims import find_claim, load_claims
from erlbench.experiment.options import MOST_SEEDS, TABLES, RunArguments, flag, option_fields, option_type
from erlbench.experiment.pool_kind import LOCAL
from erlbench.experiment.toml_file import TomlFile
from erlbench.machine.resources import cores
from erlbench.records.older import of_today
from erlbench.settings import MOST, check_value


def arguments(given: Mapping[str, Any]) -> RunArguments:
    """The arguments from what the command line gave (the rest None or empty) over what its --config file gives."""
    given = {key: value for key, value in given.items() if value not in (None, ())}
    values: dict[str, Any] = _of_claim(given["claim"]) if "claim" in given else {}
    if "config" in given:
        checked_option("config", given["config"], "--config")
        values |= _from_file(Path(given["config"]))
    if "seed" in given or "seeds" in given:
        values = {key: value for key, value in values.items() if key not in ("seed", "seeds")}
    tables = {key: {**values.get(key, {}), **assignments(given.get(key, ()), flag(key))} for key in TABLES}
    values.update({key: checked_option(key, value, flag(key)) for key, value in given.items() if key not in TABLES})
    return RunArguments(**{**values, **tables})


def run_options(asked: RunArguments, command_line: Sequence[str], part: str = "") -> RunOptions:
    """How the cells are run on this machine; `part` is the version of a plan that is run in shards."""
    shared = asked.processes is None and asked.pool == LOCAL and asked.launcher is None
    return RunOptions(
        processes=cores() if asked.processes is None else asked.processes,
        pool=asked.pool,
        per_node=asked.processes,
        jobs=1 if asked.jobs is None and not shared else asked.jobs,
        one_core=asked.one_core,
        device=asked.device,
        checkpoint_every=asked.checkpoint_every,
        task_timeout=asked.task_timeout or HUNG_AFTER,
        worker_memory=asked.worker_memory and asked.worker_memory << 20,
        save_replay=asked.save_replay,
        keep_checkpoints=asked.keep_checkpoints,
        tensorboard=asked.tensorboard,
        force=asked.force,
        force_kernel=asked.force_kernel,
        force_identity=asked.force_identity,
        admission=not asked.no_admission,
        allow_unrepeatable=asked.allow_unrepeatable,
        shard=str(asked.shard or ""),
        plan=part,
        studies=asked.study,
        verbosity=-1 if asked.quiet else int(asked.verbose),
        command_line=tuple(command_line),
    )


def seed_list(value: Any, what: str) -> tuple[int, ...]:
    """Seeds from a number of seeds (10), a list, or a text such as "0,3,5-9"."""
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d+\s*", value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_SEEDS:
            hint = f"; for one seed use --seed {value}" if value >= 0 else ""
            raise UsageError(f"{what} must be 1 to {MOST_SEEDS} seeds, not {value}{hint}")
        return tuple(range(value))
    seeds: list[int] = []
    for part in value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ("",):
        match = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", str(part))
        if match is None:
            raise UsageError(f"{what} must be a number of seeds (10) or a list (0,3,5-9), not '{value}'")
        first, last = int(match[1]), int(match[2] or match[1])
        if last > MOST:
            raise UsageError(f"{what}: a seed must be at most {MOST:g}, not {match[0].strip()}")
        if last < first or last - first >= MOST_SEEDS:
            raise UsageError(f"{what}: '{part}' must be a range of 1 to {MOST_SEEDS} seeds, the smaller one first")
        seeds.extend(range(first, last + 1))
    if not seeds:
        raise UsageError(f"{what} names no seed; leave it out for seed 0")
    if len(set(seeds)) < len(seeds) or len(seeds) > MOST_SEEDS:
        raise UsageError(f"{what}: '{value}' must name each seed once, and at most {MOST_SEEDS}")
    return tuple(seeds)


def checked_option(key: str, value: Any, what: str) -> Any:
    """One option's value, from the command line or a file, as its field has it."""
    if value == "":
        raise UsageError(f"{what} needs a value, not an empty text")
    if key == "seeds":
        return seed_list(value, what)
    if key == "shard":
        return shards.parse(str(value), what)
    if (kind := option_type(key)) == tuple[str, ...]:
        parts = [value] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise UsageError(f"{what} must be a name or a list of names, not {value}")
        names = tuple(name for part in parts for name in part.replace(" ", "").split(",") if name)
        if not names:
            raise UsageError(f"{what} names nothing")
        return tuple(dict.fromkeys(names))
    return check_value(value, kind, what, option_fields()[key].metadata)


def assignments(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """`key=value` texts of an option; the last one wins."""
    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{option} needs KEY=VALUE, not '{text}'")
        values[key.strip().replace("-", "_")] = value.strip()
    return values


def _of_claim(name: Any) -> dict[str, Any]:
    """The options that a claim runs with."""
    claim = find_claim(load_claims(), checked_option("claim", name, "--claim"))
    if claim.program:
        raise UsageError(f"the claim '{claim.id}' is decided by another command, in a checkout: {claim.program}")
    if not claim.run:
        raise UsageError(f"the claim '{claim.id}' has no command yet: {claim.lacks}")
    return {
        key: dict(value) if key in TABLES else checked_option(key, value, f"'{key}' of the claim '{claim.id}'")
        for key, value in claim.run.items()
    }


def _from_file(path: Path) -> dict[str, Any]:
    """A --config file: options at the top or in [run], and the `TABLES`; a run's config.toml is one."""
    file, values = TomlFile(path), {}
    tables = of_today(file.data)
    known = [name for name in option_fields() if name not in (*TABLES, "config")]
    top = {key: value for key, value in file.data.items() if key not in ("run", *TABLES.values())}
    if isinstance(top.get("costs"), dict):
        top["costs"] = str(path)  # the table of a run's config.toml
    for where, table in (((), top), (("run",), file.table(file.data.get("run", {}), ("run",)))):
        for key, value in table.items():
            name = key.replace("-", "_")
            if name not in known:
                file.fail(f"unknown option '{key}'{nearest(name, known)}", (*where, key))
            if name == "workers" and value == 0:
                continue  # what config.toml says of algorithms that have none
            with file.at((*where, key)):
                values[name] = checked_option(name, value, f"'{key}'")
    return values | {option: file.table(tables.get(name, {}), (name,)) for option, name in TABLES.items()}
