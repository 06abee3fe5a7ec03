"""Environments given in Python: a class, or a function that makes one."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import Any

import gymnasium
from gymnasium.envs.registration import find_highest_version

from erlbench.envs.catalogue import find_module
from erlbench.errors import UsageError

MAIN = "__main__"
_registered: dict[str, Any] = {}  # by `register_made`, by name
_imported: dict[str, dict[str, Any]] = {}  # module -> what its import has registered, by name


def name_environment(made: Any) -> str:
    """The name by which worker processes make it, `module:Name`; a `UsageError` where they cannot."""
    module, qualname = getattr(made, "__module__", ""), getattr(made, "__qualname__", "")
    if not callable(made) or getattr(sys.modules.get(module), qualname, None) is not made:
        raise UsageError(
            f"{made!r} is no environment that worker processes can make; give an id, or a class or a function at the "
            "top level of a module"
        )
    return f"{module}:{qualname}"


def import_module(module: str, name: str) -> None:
    """Import a module, whose environment `name` counts now where another module has registered that name since."""
    if module not in sys.modules:
        before = dict(gymnasium.registry)
        importlib.import_module(module)
        _imported[module] = {key: spec for key, spec in gymnasium.registry.items() if before.get(key) is not spec}
    own = _imported.get(module, {}).get(name)
    if own and any(specs.get(name) is gymnasium.registry.get(name) for specs in _imported.values()):
        gymnasium.registry[name] = own


def register_made(env_id: str) -> None:
    """Have Gymnasium know the class or function `module:Name`, if the module does not register that name itself."""
    module, name = find_module(env_id), env_id.rpartition(":")[2]
    if name in _registered and gymnasium.registry.get(name) is _registered[name]:
        del gymnasium.registry[name]  # it may be another module's
    is_known = name in gymnasium.registry or find_highest_version(None, name) is not None
    if module in sys.modules and not is_known and callable(getattr(sys.modules[module], name, None)):
        gymnasium.register(name, entry_point=env_id)
        _registered[name] = gymnasium.registry[name]


def check_importable(envs: Iterable[str], processes: int) -> None:
    """A `UsageError` where worker processes would have to import an environment from the script that runs."""
    for env in envs:
        if processes and find_module(env) == MAIN:
            raise UsageError(
                f"{env.rpartition(':')[2]} is defined in the program itself, which worker processes cannot import; "
                "move it into a separate module, or give processes=0"
            )
