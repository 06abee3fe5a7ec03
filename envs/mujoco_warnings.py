"""What MuJoCo warns of, through Python's logging."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("mujoco")
DEPRECATED = "is deprecated"


def log_warnings(anew: bool = False) -> None:
    """Let MuJoCo warn through the logger `mujoco`, not by writing to stderr and to ./MUJOCO_LOG.TXT.

    What it deprecates in a model (lately `settotalmass` of Gymnasium's HalfCheetah) has the level INFO, which Python
    does not print by default.
    """
    import mujoco  # not at the top: 0.1 s that naming environments need not pay

    def warn(message: str) -> None:  # called from C++, where an exception would end the process; logging raises none
        LOGGER.log(logging.INFO if DEPRECATED in message else logging.WARNING, message)

    if anew or mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(warn)
