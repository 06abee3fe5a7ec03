"""The door for environments: each is made and tried in a clean process before anything of a run starts here."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium

from erlbench.envs.catalogue import extra_of, module_of, split_preset
from erlbench.envs.registry import Problem
from erlbench.errors import CellError, UsageError
from erlbench.experiment.cells import HUNG_AFTER, RunOptions
from erlbench.pool.clean import ask_clean_process
from erlbench.running.inspections import Inspection, also, inspection, of_files
from erlbench.work import identity
from erlbench.work.admission import Admission, inspect
from erlbench.work.facts import candidates, registering

LIMIT = 120.0  # seconds to make and try an environment, unless `task_timeout` says otherwise
OF_ALL = ("gymnasium.", "erlbench.")  # modules whose ids every process registers
SEARCHED = 20.0  # seconds to import one module that may register an id
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Rules:
    """How environments are admitted."""

    anyway: bool = False  # whether those run that are refused, or that crash or hang while they are tried
    limit: float = LIMIT  # seconds
    tries: bool = True  # whether episodes are tried


def rules_of(options: RunOptions) -> Rules:
    """The rules that a command asks for."""
    limit = LIMIT if options.task_timeout == HUNG_AFTER else options.task_timeout
    return Rules(options.anyway, limit, options.admission)


def begin(env: str, settings: Settings, rules: Rules) -> Future[Inspection]:
    """Begin to inspect an environment; returns at once."""
    return inspection(_key(env, settings, rules), partial(_inspect, env, dict(settings), rules))


def admitted(env: str, settings: Settings, rules: Rules) -> Admission:
    """The environment `ID` or `ID@PRESET`, tried.

    Raises `UsageError` where it is refused, and `CellError` where it crashes or hangs.
    """
    future = begin(env, settings, rules)
    found = future.result()
    admission = found.answer
    if not isinstance(admission, Admission):
        import mujoco  # noqa: F401  # a MUJOCO_GL that it does not know ends every process; this says so

        raise CellError(f"environment '{env}' cannot be run: {found.failure}")
    if admission.refusal:
        raise UsageError(admission.refusal) from (_Traceback(admission.details) if admission.details else None)
    if admission.unrepeatable and not rules.anyway:
        raise UsageError(
            f"environment '{env}' cannot be repeated: {admission.unrepeatable}; its reset(seed) must decide all that "
            "an episode draws, or run it by --anyway (its results are marked)"
        )
    also(_key(env, settings, replace(rules, anyway=True)), future)  # what is admitted is so anyway
    if fresh := admission.problem.env.fresh:
        also(_key(env, {**settings, "fresh": fresh}, rules), future)
    return admission


def problems(rules: Rules) -> Callable[[str, Settings], Problem]:
    """The function from an environment and its settings to its problem, by these rules."""
    return lambda env, settings: admitted(env, settings, rules).problem


class _Traceback(Exception):
    """The traceback of another process, for `-v`."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def _inspect(env: str, settings: dict[str, Any], rules: Rules) -> Inspection:
    arguments = (env, settings, rules.tries)
    env_id = split_preset(env)[0]
    if not module_of(env_id) and _is_only_here(env_id):
        return Inspection(answer=inspect(lambda phase: None, *arguments))
    answer, failure = ask_clean_process(inspect, *arguments, limit=rules.limit)
    if isinstance(answer, Admission) and answer.refusal and _is_unknown(env_id, answer.refusal):
        answer = replace(answer, refusal=answer.refusal + _hint(env_id))
    if not isinstance(answer, Admission) or answer.refusal:
        if rules.anyway and rules.tries:
            return _inspect(env, settings, replace(rules, tries=False))
        return Inspection(answer=answer, failure=failure)
    return of_files(answer, answer.files, answer.model)


def _is_unknown(env_id: str, refusal: str) -> bool:
    """Whether nobody here registers an id, and nothing is near it."""
    known = bool(module_of(env_id) or extra_of(env_id)) or env_id in gymnasium.registry
    return not known and "did you mean" not in refusal


def _hint(env_id: str) -> str:
    """The installed module that registers an id, as it is typed; each is imported in a process of its own."""
    for module in candidates():
        if ask_clean_process(registering, module, env_id, limit=SEARCHED)[0]:
            return f"; {module} registers it: give --env {module}:{env_id}"
    return "; an environment of a package or of your own is typed MODULE:ID"


def _key(env: str, settings: Settings, rules: Rules) -> Hashable:
    """What decides an inspection: also the files that the settings name and the one of the environment's module."""
    files = tuple((name, identity.file_digest(name)) for _, name in identity.named_files("", dict(settings)))
    return (
        tuple(sys.path),
        env,
        repr(sorted(settings.items())),
        files,
        _source(module_of(env)),
        rules.tries,
        rules.anyway,
    )


def _source(module: str) -> str:
    """The digest of a module's file, which is looked for and not loaded."""
    try:
        found = importlib.util.find_spec(module.partition(".")[0]) if module else None
    except (ImportError, ValueError):  # ValueError: of a module that this process has made
        return ""
    return identity.file_digest(found.origin) if found and found.origin else ""


def _is_only_here(env_id: str) -> bool:
    """Whether this very program has registered an id, so that no other process knows it."""
    spec = None if extra_of(env_id) else gymnasium.registry.get(env_id)
    return spec is not None and not (isinstance(spec.entry_point, str) and spec.entry_point.startswith(OF_ALL))
