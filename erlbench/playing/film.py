"""Films: an environment's frames to an mp4 or a gif."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import imageio.v2 as imageio
import numpy as np
from PIL import Image

from erlbench.errors import ErlbenchError, UsageError, explain

SUFFIXES = (".mp4", ".gif")
RATE = 30.0  # frames a second of environments that do not say theirs
GIF_RATE = 25.0  # frames a second; more are left out
GIF_WIDTH, GIF_COLOURS = 320, 64  # pixels, and colours per frame; wider frames are made smaller


class Film(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Writes a frame after each reset and each step: a looping gif, or an mp4 by ffmpeg; whole once it is closed."""

    def __init__(self, env: gymnasium.Env[Any, Any], path: Path) -> None:
        super().__init__(env)
        self._path, self._is_gif = path, path.suffix == ".gif"
        rate = float(env.metadata.get("render_fps") or RATE)
        self._every = max(1, round(rate / GIF_RATE)) if self._is_gif else 1
        options: dict[str, Any] = {"fps": rate, "macro_block_size": 2, "ffmpeg_log_level": "quiet"}
        if self._is_gif:
            options = {"duration": 1000 * self._every / rate, "loop": 0}
        self._writer, self._frames = imageio.get_writer(path, **options), 0
        self._error: OSError | None = None  # no more is written after it, and `close` raises it

    def reset(self, **arguments: Any) -> Any:
        outcome = self.env.reset(**arguments)
        self._add()
        return outcome

    def step(self, action: Any) -> Any:
        outcome = self.env.step(action)
        self._add()
        return outcome

    def _add(self) -> None:
        self._frames += 1
        if self._error or (self._frames - 1) % self._every:
            return
        frame = np.asarray(self.env.render())
        if self._is_gif:
            image = Image.fromarray(frame)
            image.thumbnail((GIF_WIDTH, image.height))
            frame = np.asarray(image.quantize(GIF_COLOURS).convert("RGB"))
        try:
            self._writer.append_data(frame)
        except OSError as error:
            self._error = error

    def close(self) -> None:
        """End the film. Raises `ErlbenchError` when it is not whole."""
        try:
            self._writer.close()
            if not self._is_gif and b"moov" not in self._path.read_bytes():  # the index, which ffmpeg writes last
                raise OSError
        except OSError as error:
            self._error = self._error or error
        if self._error and self._is_gif:
            raise ErlbenchError(explain(self._error, self._path)) from None
        if self._error:  # its text is ffmpeg's command, not the reason
            what = "ffmpeg cannot write the film; is the disk full? Free some space, or give another file by --video"
            raise ErlbenchError(f"{self._path}: {what}") from None


def check_film(path: Path) -> None:
    """Raise a `UsageError` for a film that cannot be made."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"--video {path}: the name must end in {' or '.join(SUFFIXES)}")
    if path.suffix == ".mp4" and find_spec("imageio_ffmpeg") is None:
        raise UsageError("an mp4 needs a package: pip install 'erlbench[video]'; a gif needs none")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(f"--video {path}: a folder, a device or a link has this name; give another one")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"--video {path} cannot be written; give a file in another folder")
