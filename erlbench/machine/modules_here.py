"""Modules in the folder where a command was given: found from the moment when somebody names one of them.

Libraries look for modules that may not be installed, such as `cuda` or `org`. A file of that name beside results is not
run by a command that names no module of the folder.
"""

from __future__ import annotations

import sys
from pathlib import Path


def name_module(module: str) -> None:
    """Let a module be found in the current folder, behind all that is installed, as the command names it.

    Processes that are started later find it, too.
    """
    top = module.partition(".")[0]
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the folder was removed
        return
    is_here = top != "" and ((here / top).is_dir() or (here / f"{top}.py").is_file())
    if is_here and not {str(here), ""} & set(sys.path):
        sys.path.append(str(here))
