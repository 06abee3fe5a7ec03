"""Films: frames to an mp4 or a gif."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from erlbench.errors import ErlbenchError, UsageError, explain
from erlbench.files import reason, try_write

SUFFIXES = (".mp4", ".gif")
GIF_RATE = 25.0  # frames a second; more are left out
GIF_WIDTH = 320  # pixels; wider frames are made smaller

Draw = Callable[[], np.ndarray]


class FilmError(ErlbenchError):
    """A film that could be begun cannot be written to its end."""


class Film(Protocol):
    """Is a whole file once it is closed. `draw` gives a frame, `(height, width, 3)` uint8."""

    def add(self, draw: Draw) -> None: ...
    def close(self) -> None: ...


class Mp4:
    """H.264 by the ffmpeg of imageio-ffmpeg."""

    def __init__(self, path: Path, rate: float) -> None:
        self._path, self._rate = path, rate
        self._writer: Any = None  # a generator of imageio-ffmpeg that takes frames

    def add(self, draw: Draw) -> None:
        """Write a frame; odd rows and columns are left out, which H.264 does not have. Raises `FilmError`."""
        import imageio_ffmpeg

        frame = draw()
        height, width = (side - side % 2 for side in frame.shape[:2])
        if self._writer is None:
            self._writer = imageio_ffmpeg.write_frames(
                str(self._path), (width, height), fps=self._rate, macro_block_size=2, ffmpeg_log_level="quiet"
            )
            self._writer.send(None)
        try:
            self._writer.send(np.ascontiguousarray(frame[:height, :width]))
        except OSError:  # its text is ffmpeg's command, not the reason
            raise self._error() from None

    def close(self) -> None:
        """End the file. Raises `FilmError` when it is not whole."""
        if self._writer is None:
            return
        self._writer.close()
        try:
            whole = b"moov" in self._path.read_bytes()  # the index, which ffmpeg writes last
        except OSError:
            whole = False
        if not whole:
            raise self._error()

    def _error(self) -> FilmError:
        return FilmError(f"{self._path}: ffmpeg cannot write the film; is the disk full? Free some space, or give "
                         "another file by --video")  # fmt: skip


class Gif:
    """A looping gif by Pillow, of at most `GIF_RATE` frames a second and `GIF_WIDTH` pixels."""

    def __init__(self, path: Path, rate: float) -> None:
        self._path, self._rate = path, rate
        self._every = max(1, round(rate / GIF_RATE))
        self._frames: list[Any] = []
        self._seen = 0

    def add(self, draw: Draw) -> None:
        """Keep a frame, or leave it out, which then is not drawn."""
        from PIL import Image

        if self._seen % self._every == 0:
            image = Image.fromarray(draw())
            if image.width > GIF_WIDTH:
                image = image.resize((GIF_WIDTH, round(image.height * GIF_WIDTH / image.width)))
            self._frames.append(image.quantize(64))
        self._seen += 1

    def close(self) -> None:
        """Write the file. Raises `FilmError`."""
        if self._frames:
            first, *others = self._frames
            milliseconds = 1000 * self._every / self._rate
            try:
                first.save(self._path, save_all=True, append_images=others, duration=milliseconds, loop=0)
            except OSError as error:
                raise FilmError(explain(error, self._path)) from error


def create(path: Path, rate: float) -> Film:
    """The film that `path` names by its suffix, of `rate` frames a second."""
    check(path)
    return Mp4(path, rate) if path.suffix == ".mp4" else Gif(path, rate)


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
