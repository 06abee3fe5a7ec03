"""Whether a run is what it says: its configuration as each start had it, its folder, and its first policy."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.algorithms import registry
from erlbench.envs.catalogue import module_of
from erlbench.envs.registry import problem
from erlbench.errors import ErlbenchError
from erlbench.experiment.arguments import arguments
from erlbench.experiment.cells import SHARED, Cell, folder_name
from erlbench.experiment.command import requested_cells
from erlbench.files import read_bytes
from erlbench.policy import serialise_policy
from erlbench.pool import SimulatedPool, local_pool
from erlbench.pool.clean import ask_clean_process
from erlbench.records.run import ASIDE, CONFIG, META, config_hash
from erlbench.records.schema import EpisodeRow
from erlbench.running.evaluation import EvaluationState
from erlbench.running.state_digest import StateDigest
from erlbench.verification.budget import is_bounded
from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files, outcome
from erlbench.work.replay import Replay

OF_THE_LAST_START = ("format", "started", "command_line", "arithmetic", "identity", "config_sha256")
MOST_SECONDS, MOST_NOISE = 60.0, 300_000_000  # to make them, and numbers of a table of noise
MOST_NUMBERS = 20_000_000  # of all first policies together: what this check makes
SEED = re.compile(rf"seed-(\d+)({re.escape(ASIDE)}\d+)?")


def check_claims(run: Files) -> Iterator[Check]:
    """What config.toml, meta.json and the folder say of the run, against each other."""
    yield _configuration(run)
    yield _place(run)


def _configuration(run: Files) -> Check:
    """config.toml has the hash that the last start recorded; later starts say what they changed."""
    name, starts = "config", run.starts
    recorded = [str(start["config_sha256"]) for start in starts if start.get("config_sha256")]
    if not recorded:
        return Check(name, UNKNOWN, "the run did not record with which config.toml it was started")
    wrong = [] if recorded[-1] == config_hash(run.path) else [f"{CONFIG} is not the one of the last start"]
    wrong += [f"{META}: {key} is not that of the last start" for key in OF_THE_LAST_START
              if key in starts[-1] and run.meta.get(key) != starts[-1][key]]  # fmt: skip
    changed = [str(line) for start in starts for line in _lines(start.get("config_changes"))]
    wrong += [f"start {index} has another config.toml and does not say what changed"
              for index, (before, start) in enumerate(zip(recorded, starts[-len(recorded):][1:]), 1)
              if start.get("config_sha256") != before and not _lines(start.get("config_changes"))]  # fmt: skip
    said = {"total_timesteps": run.status.get("total_timesteps"), "total_minutes": run.status.get("total_minutes")}
    wrong += [f"status.json has {key} {value}, {CONFIG} {run.run.get(key)}" for key, value in said.items()
              if value is not None and value != run.run.get(key)]  # fmt: skip
    text = f"{CONFIG} and {META} are those of the last of {len(starts)} starts"
    return outcome(name, wrong, f"{text}; a later start changed {'; '.join(changed[:3])}" if changed else text)


def _lines(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _place(run: Files) -> Check:
    """The folder ENV/NAME/seed-NNN and the first line of episodes.csv name what config.toml has."""
    path = run.path.resolve()
    env, name, seed = (run.run.get(key) for key in ("env", "name", "seed"))
    wrong = []
    if (found := SEED.fullmatch(path.name)) and int(found[1]) != seed:
        wrong.append(f"{CONFIG} has seed {seed}, the folder is {path.name}")
    folders, said = (path.parent.parent.name, path.parent.name), (folder_name(str(env)), str(name))
    alone = not found or all(here != there for here, there in zip(folders, said, strict=True))
    if not alone:
        wrong += [f"{CONFIG} has {there}, the folder {here}" for here, there in zip(folders, said) if here != there]
    played = _environment_of_episodes(run)
    if played is not None and played != env:
        wrong.append(f"{CONFIG} has {env}, {EpisodeRow.file} {played}")
    if alone and not wrong:
        return Check("folder", UNKNOWN, f"{path.name} is a copy by itself, not in folders ENV/NAME/seed-NNN")
    return outcome("folder", wrong, f"{env}, {name} and seed {seed} are in the folder's names")


def _environment_of_episodes(run: Files) -> Any:
    """The environment that episodes.csv names in its first line; None without one."""
    with suppress(OSError, ValueError):
        first = read_bytes(run.path / EpisodeRow.file, inside=1).split(b"\n", 1)[0]
        if first.startswith(b"#"):
            said = json.loads(first[1:])
            return said.get("env_id") if isinstance(said, dict) else None
    return None


def check_beginning(run: Files, alike: bool, trusted: bool) -> Check:
    """Whether config.toml gives the first policy and the first state of the run; nothing is trained or played.

    `alike` and `trusted` as of `check_policies`.
    """
    name, row = "beginning", {} if run.evaluations.empty else dict(run.evaluations.iloc[0])
    if not row.get("policy_sha256") or not row.get("digest") or row.get("evaluation") != 0:
        return Check(name, UNKNOWN, "eval.csv has no digest of the beginning")
    for named in (str(run.run.get("env")), str(run.run.get("algo"))):
        if (module := module_of(named)) and not trusted:
            return Check(name, UNKNOWN, f"{named} is in the module {module}, which runs code; --import allows that")
    if str(run.run.get("algo")) not in registry.ALGORITHMS and not trusted:
        return Check(name, UNKNOWN, "its algorithm is not the suite's and would run code; --import allows that")
    try:
        with tempfile.TemporaryDirectory(prefix="erlbench-verify-") as folder:
            (cell,) = requested_cells(arguments({"config": str(run.path / CONFIG), "out": folder}))
            if is_bounded(cell.env, cell.env_settings):
                found = _beginning(cell, Path(folder))
            else:
                found, failure = ask_clean_process(_beginning_there, cell, Path(folder), limit=MOST_SECONDS)
                if failure or isinstance(found, str):
                    return Check(name, UNKNOWN, f"it cannot be made here: {failure or found}")
    except (ErlbenchError, OSError, ValueError, TypeError) as error:
        return Check(name, UNKNOWN, f"it cannot be made here: {error}")
    if not found:
        return Check(name, UNKNOWN, f"its first policies have more than {MOST_NUMBERS:,} numbers")
    parts = zip(("policy", "state"), found, (row["policy_sha256"], row["digest"]), strict=True)
    wrong = [part for part, ours, theirs in parts if ours != theirs]
    if not wrong:
        return Check(name, AGREES, "algorithm, environment, settings and seed give the first policy and state")
    text = f"these settings, environment and seed give another first {' and '.join(wrong)}"
    return Check(name, DIFFERS if alike else UNKNOWN, text)


def _beginning_there(say: Callable[[str], None], cell: Cell, folder: Path) -> tuple[str, str] | str | None:
    """`_beginning` in a process of its own; a text says why it cannot be made."""
    say("its beginning")
    try:
        return _beginning(cell, folder)
    except (ErlbenchError, OSError, ValueError, TypeError) as error:
        return str(error)


def _beginning(cell: Cell, folder: Path) -> tuple[str, str] | None:
    """SHA-256 of the file of the first policy, and the digest of the first state; None where they are too large."""
    task = problem(cell.env, cell.env_settings)
    size = registry.find(cell.algo).policy_for(cell.settings, task).size
    numbers = size * (1 + (getattr(cell.settings, "population", None) or 1))
    if numbers > MOST_NUMBERS or getattr(cell.settings, "noise_table", 0) > MOST_NOISE:
        return None
    with local_pool(0) as pool, closing(Replay(folder, task.observation_size, task.action_size, pool.store)) as replay:
        algorithm = cell.algorithm(task, pool.store, replay)
        timed = SimulatedPool(pool, cell.processors, cell.costs, cell.simulated_critic == SHARED)
        state = timed.state(()) if cell.simulated_time else pool.state(())
        digest = StateDigest(pool.store)(algorithm, (), EvaluationState(), state)
        data = serialise_policy(np.asarray(pool.store.load(algorithm.policy())), algorithm.policy_spec)
        return hashlib.sha256(data).hexdigest(), digest
