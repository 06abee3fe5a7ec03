"""The admission of environments: each is tried in a separate process before a run starts.

From the same process comes the identity of a run: what its problem and its algorithm load there.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from erlbench.algorithms import registry
from erlbench.envs.catalogue import find_extra, find_module, split_preset
from erlbench.envs.registry import Problem
from erlbench.errors import CellError, UsageError
from erlbench.experiment.cells import HUNG_AFTER, Cell, RunOptions
from erlbench.settings import toml_values
from erlbench.work import identity
from erlbench.work.inspection import Inspection
from erlbench.work.trial import Admission, inspect

LIMIT = 120.0  # seconds to make and try an environment, unless `task_timeout` is set
OF_ALL = ("gymnasium.", "erlbench.")  # modules whose ids every process registers
IMPORTED = 600.0  # seconds to import an algorithm
GRADIENTS = ("torch", "erlbench.algorithms.gradients.updates", "erlbench.algorithms.gradients.episodes")
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Rules:
    """How environments are admitted."""

    anyway: bool = False  # run environments too that were refused, crashed or hung
    limit: float = LIMIT  # seconds
    tries: bool = True  # whether episodes are tried
    modules: tuple[str, ...] = ()  # of the command's algorithm, to be imported after the trial


@dataclass(frozen=True)
class Trial:
    """What a process has answered."""

    admission: Admission | None  # None where it has not answered
    failure: str = ""  # why not
    process: Inspection | None = None  # it may still import the algorithm


_trials: dict[Hashable, Trial] = {}  # for the life of this process
_guard = threading.RLock()

UNTRIED = Rules(tries=False)


def make_rules(options: RunOptions, algorithms: Iterable[str] = ()) -> Rules:
    """The rules that a command asks for, which runs these algorithms, where known (`ALGO@PRESET`)."""
    limit = LIMIT if options.task_timeout == HUNG_AFTER else options.task_timeout
    names = {name.partition("@")[0] for name in algorithms}
    modules = list_modules(*names) if len(names) == 1 else ()
    return Rules(options.anyway, limit, options.admission, modules)


def list_modules(algo: str) -> tuple[str, ...]:
    """The modules that a run of an algorithm imports, without its environment's; none of an unknown one."""
    try:
        entry = registry.entry(algo)
    except UsageError:
        return ()
    modules = filter(None, (entry.where.partition(":")[0], entry.library))
    return (*modules, *((*GRADIENTS, *registry.gradient_modules(algo)) if registry.learns(algo) else ()))


def admit(env: str, settings: Settings, rules: Rules) -> Admission:
    """The environment `ID` or `ID@PRESET`, tried.

    Raises `UsageError` where it is refused, and `CellError` where it crashes or hangs.
    """
    trial = _try_once(env, settings, rules)
    admission = trial.admission
    if admission is None:
        import mujoco  # noqa: F401  # its error on an unknown MUJOCO_GL, which ends every process

        raise CellError(f"environment '{env}' cannot be run: {trial.failure}")
    if admission.refusal:
        raise UsageError(admission.refusal) from (RuntimeError(f"\n{admission.details}") if admission.details else None)
    if admission.unrepeatable and not rules.anyway:
        raise UsageError(
            f"environment '{env}' cannot be repeated: {admission.unrepeatable}; its reset(seed) must decide all that "
            "an episode draws, or run it by --anyway (its results are marked)"
        )
    return admission


def problem_finder(rules: Rules) -> Callable[[str, Settings], Problem]:
    """The function from an environment and its settings to its problem, by these rules."""
    return lambda env, settings: admit(env, settings, rules).problem


def identify_problem(cell: Cell, rules: Rules = Rules()) -> dict[str, Any]:
    """The identity of the cell's problem here and now; empty where no other process can make its environment.

    Raises `CellError` where the algorithm's modules cannot be imported there.
    """
    return identify_run(cell.algo, cell.env, cell.env_settings, toml_values(cell.settings), rules)


def identify_run(
    algo: str, env: str, env_settings: Settings, settings: Settings, rules: Rules = UNTRIED
) -> dict[str, Any]:
    """As `identify_problem`, for the values of a config.toml."""
    modules = list_modules(algo)
    trial = _try_once(env, env_settings, replace(rules, modules=modules))
    admission = trial.admission
    if admission is None or not admission.files:
        return {}
    if trial.process is not None:
        admission = trial.process.answer()[0]
    files = admission.all_files
    if admission.imported != modules:
        files = {**admission.files, **_loaded_by(modules, tuple(sys.path))}
    if not files:
        return {}
    return {
        **identity.describe_files(files),
        "files": {
            name: identity.file_digest(path)
            for table, values in (("env_settings", env_settings), ("settings", settings))
            for name, path in identity.named_files(table, values)
        },
        "model": admission.model,
    }


@cache
def _loaded_by(modules: tuple[str, ...], path: tuple[str, ...]) -> dict[str, str]:
    """What a process has loaded that imports these modules; `path` is for the cache. `CellError` where it cannot."""
    files, failure = Inspection(identity.import_modules, modules, limit=IMPORTED).answer()
    if failure:
        raise CellError(f"{', '.join(modules)} cannot be imported: {failure}")
    return dict(files)


def _try_once(env: str, settings: Settings, rules: Rules) -> Trial:
    """The trial of an environment, of now or of before; by `anyway`, without episodes where it fails with them."""
    with _guard:
        key = _key(env, settings, rules)
        trial = _trials.get(key)
        if trial is None:
            trial = _trials[key] = _try(env, settings, rules)
            if (admission := trial.admission) and admission.described and (mended := admission.problem.env.fresh):
                _trials[_key(env, {**settings, "fresh": mended}, rules)] = trial  # as cells have it afterwards
        if rules.anyway and rules.tries and (trial.admission is None or trial.admission.refusal):
            return _try_once(env, settings, replace(rules, tries=False))
    return trial


def _try(env: str, settings: Settings, rules: Rules) -> Trial:
    if _maker(env):
        return Trial(replace(inspect(lambda kind, value: None, env, settings, rules.tries), files={}))
    process = Inspection(inspect, env, dict(settings), rules.tries, rules.modules, limit=rules.limit)
    return Trial(*process.answer(last=not rules.modules), process)


def _key(env: str, settings: Settings, rules: Rules) -> Hashable:
    """What decides a trial: also the files that the settings name, the environment's module, what this program made."""
    files = tuple((name, identity.file_digest(name)) for _, name in identity.named_files("", dict(settings)))
    values = repr(sorted(settings.items()))
    return tuple(sys.path), env, values, files, _source(find_module(env)), _maker(env), rules.tries


def _source(module: str) -> str:
    """The digest of a module's file, which is looked for and not loaded."""
    try:
        spec = importlib.util.find_spec(module.partition(".")[0]) if module else None
    except (ImportError, ValueError):  # ValueError: of a module that this process has made
        return ""
    return identity.file_digest(spec.origin) if spec and spec.origin else ""


def _maker(env: str) -> Any:
    """What makes an environment that this very program has defined or registered, so that no other process knows it."""
    env_id, gymnasium = split_preset(env)[0], sys.modules.get("gymnasium")
    if module := find_module(env_id):
        return getattr(sys.modules[module], env_id.rpartition(":")[2], None) if module == "__main__" else None
    spec = gymnasium.registry.get(env_id) if gymnasium and not find_extra(env_id) else None
    made = spec and spec.entry_point
    return None if isinstance(made, str) and made.startswith(OF_ALL) else made
