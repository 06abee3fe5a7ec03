"""Films: frames to an mp4 or a gif."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import imageio.v2 as imageio
import numpy as np
from PIL import Image

from erlbench.errors import ErlbenchError, UsageError, explain
from erlbench.files import reason, try_write

SUFFIXES = (".mp4", ".gif")
GIF_RATE = 25.0  # frames a second; more are left out
GIF_WIDTH, GIF_COLOURS = 320, 64  # pixels, and colours per frame; wider frames are made smaller

Draw = Callable[[], Any]  # an environment's `render`


class FilmError(ErlbenchError):
    """A film that could be begun cannot be written to its end."""


class Film:
    """A looping gif, or an mp4 by ffmpeg; a whole file once it is closed.

    `path` names it by its suffix, `rate` is in frames per second.
    """

    def __init__(self, path: Path, rate: float) -> None:
        self._path, self._is_gif = path, path.suffix == ".gif"
        self._every = max(1, round(rate / GIF_RATE)) if self._is_gif else 1
        self._options: dict[str, Any] = {"fps": rate, "macro_block_size": 2, "ffmpeg_log_level": "quiet"}
        if self._is_gif:
            self._options = {"duration": 1000 * self._every / rate, "loop": 0}
        self._writer: Any = None
        self._count = 0

    def add(self, draw: Draw) -> None:
        """Write the frame `(height, width, 3)` uint8 of `draw`, or leave it out undrawn. Raises `FilmError`."""
        self._count += 1
        if (self._count - 1) % self._every:
            return
        try:
            if self._writer is None:
                self._writer = imageio.get_writer(self._path, **self._options)
            self._writer.append_data(self._fit(np.asarray(draw())))
        except OSError as error:
            raise self._explain(error) from None

    def close(self) -> None:
        """End the file. Raises `FilmError` when it is not whole."""
        if self._writer is None:
            return
        try:
            self._writer.close()
            if not self._is_gif and b"moov" not in self._path.read_bytes():  # the index, which ffmpeg writes last
                raise OSError
        except OSError as error:
            raise self._explain(error) from None

    def _fit(self, frame: np.ndarray) -> np.ndarray:
        """Make a gif smaller, and leave out odd rows and columns of an mp4, which H.264 does not have."""
        height, width = frame.shape[:2]
        if not self._is_gif:
            return frame[: height - height % 2, : width - width % 2]
        image = Image.fromarray(frame)
        if width > GIF_WIDTH:
            image = image.resize((GIF_WIDTH, round(height * GIF_WIDTH / width)))
        return np.asarray(image.quantize(GIF_COLOURS).convert("RGB"))

    def _explain(self, error: OSError) -> FilmError:
        if self._is_gif:
            return FilmError(explain(error, self._path))
        what = "ffmpeg cannot write the film; is the disk full? Free some space, or give another file by --video"
        return FilmError(f"{self._path}: {what}")  # the error's text is ffmpeg's command, not the reason


def check(path: Path) -> None:
    """Raise a `UsageError` for a film that cannot be made; leaves no file."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"--video {path}: the name must end in {' or '.join(SUFFIXES)}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--video {path}: there is no folder {path.parent}")
    if path.suffix == ".mp4" and find_spec("imageio_ffmpeg") is None:
        raise UsageError("an mp4 needs a package: pip install 'erlbench[video]'; a gif needs none")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(f"--video {path}: a folder, a device or a link has this name; give another one")
    try:
        try_write(path)
    except OSError as error:
        raise UsageError(f"--video {path} cannot be written: {reason(error)}; give a file in another folder") from error
