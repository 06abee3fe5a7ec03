"""What MuJoCo warns of: through Python's logging, and what it deprecates in a model once, not in every worker."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

LOGGER = logging.getLogger("mujoco")
DEPRECATED = "is deprecated"


def log_warnings(anew: bool = False) -> None:
    """Let MuJoCo warn through the logger `mujoco`, not by writing to stderr and to ./MUJOCO_LOG.TXT.

    What it deprecates in a model (lately `settotalmass` of Gymnasium's HalfCheetah) has the level INFO, which Python
    does not print by default: whoever makes the environment for its description says it (`deprecations`).
    """
    import mujoco  # not at the top: 0.1 s that naming environments need not pay

    def warn(message: str) -> None:  # called from C++, where an exception would end the process; logging raises none
        LOGGER.log(logging.INFO if DEPRECATED in message else logging.WARNING, message)

    if anew or mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(warn)


@contextmanager
def deprecations() -> Iterator[list[str]]:
    """A list that grows by what MuJoCo deprecates in the models that are loaded meanwhile, each said once."""
    found: list[str] = []

    def take(record: logging.LogRecord) -> bool:
        text = " ".join(record.getMessage().split())
        if DEPRECATED in text and text not in found:
            found.append(text)
        return DEPRECATED not in text

    level = LOGGER.level
    LOGGER.addFilter(take)
    LOGGER.setLevel(logging.INFO)
    try:
        yield found
    finally:
        LOGGER.setLevel(level)
        LOGGER.removeFilter(take)
