"""Where an attack happens, and what must hold after every command: nothing outside is changed, and nothing is started.

A command is forked from the campaign's process, which has imported everything, and runs the command's own `main`.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from tests.campaign.trials import check
from tests.runs import heed_interrupts

SECONDS = 10.0  # of processor time
CLOCK = 90.0  # seconds: other programs use the machine, too
LARGE = 1 << 20  # bytes of a file whose content is not compared
CODES = (0, 1, 2)
UNEXPECTED = ("Traceback (most", "erlbench: unexpected ", "\x1b[2J", "\x07")


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A mutation that was made, the commands that follow, and what must come of them."""

    finding: int
    what: str
    commands: Sequence[Sequence[object]]
    own: Sequence[Path] = ()  # the folders and files that these commands may write
    refused: bool = False  # whether each must end with an error
    names: Sequence[Path] = ()  # which an error must name, one of them
    says: str = ""  # what an error must say
    after: Callable[[str], None] = field(default=lambda output: None)  # a further check, of all output
    cold: bool = False  # in a process of its own, which imports everything anew


class Place:
    """A trial's folder: `work`, in which commands are given, and `outside`, whose files are the user's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work, self.outside = folder / "work", folder / "outside"
        self.results, self.temporary = self.work / "results", folder / "temporary"
        for made in (self.work, self.outside, self.temporary):
            made.mkdir()
        for name in ("thesis.tex", ".bashrc", "notes.csv", "index.html"):
            (self.outside / name).write_text(f"{name} of the user\n")
        (self.outside / "folder").mkdir()
        (self.outside / "folder" / "kept.txt").write_text("kept\n")
        self.sprung = folder / "sprung"  # what an attack makes that gets its code run

    def copy(self, run: Path) -> Path:
        """A copy of a run's folder below `results`."""
        target = self.results.joinpath(*run.parts[-3:])
        shutil.copytree(run, target, symlinks=True)
        return target

    def perform(self, attack: Attack) -> list[int]:
        """Give the commands and check what is promised; their exit codes."""
        allowed = [*attack.own, self.temporary, self.folder / "output"]
        before, codes, told = snapshot(self.folder, allowed), [], ""
        for words in attack.commands:
            code, output = self._run([str(word) for word in words], attack.cold)
            line = f"finding {attack.finding}, {attack.what}: erlbench {' '.join(map(str, words))}"
            changed = sorted(
                str(Path(path).relative_to(self.folder)) for path in differences(before, snapshot(self.folder, allowed))
            )
            check(not changed, f"{line}: changed {', '.join(changed[:5])}: {output[-300:]}")
            check(code in CODES, f"{line}: exit code {code}: {output[-600:]}")
            found = [word for word in UNEXPECTED if word in output]
            check(not found, f"{line}: {found} in {output[-900:]}")
            check(code or not attack.refused, f"{line}: not refused: {output[-600:]}")
            if code and (code, str(words[0])) != (1, "verify"):  # whose answer is a table of checks
                self._check_refusal(line, code, output, attack)
            codes.append(code)
            told += output
        attack.after(told)
        return codes

    def _check_refusal(self, line: str, code: int, output: str, attack: Attack) -> None:
        """One line that names the folder."""
        said = "".join(output.split())
        named = {"".join(str(name).split()) for path in attack.names for name in (path, *self._short(path))}
        check(not named or any(name in said for name in named), f"{line}: does not name the folder: {output[-900:]}")
        check("".join(attack.says.split()) in said, f"{line}: does not say '{attack.says}': {output[-900:]}")
        last = (output.strip().splitlines() or [""])[-1]
        check(code != 2 or last.startswith("erlbench: "), f"{line}: the last line is no message: {output[-900:]}")

    def _short(self, path: Path) -> Iterable[Path]:
        return [path.relative_to(self.work)] if path.is_relative_to(self.work) else []

    def _run(self, words: list[str], cold: bool) -> tuple[int, str]:
        """Exit code and output of a command; `Failed` where it hangs, or leaves a process behind."""
        output = self.folder / "output"
        pid = os.fork()
        if not pid:
            _be(words, output, self.work, self.temporary, cold)
        begun = time.monotonic()
        while True:
            ended, status, used = os.wait4(pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() - begun > CLOCK or _ticks(pid) > SECONDS * os.sysconf("SC_CLK_TCK"):
                self._kill(pid)
                os.wait4(pid, 0)
                check(False, f"erlbench {' '.join(words)}: no end: {output.read_text()[-300:]}")
            time.sleep(0.01)
        check(used.ru_utime + used.ru_stime < 2 * SECONDS, f"erlbench {' '.join(words)}: {used.ru_utime:.0f} s")
        end = time.monotonic() + 10
        while (left := _session(pid)) and time.monotonic() < end:
            time.sleep(0.02)
        if left:
            self._kill(pid)
            check(False, f"erlbench {' '.join(words)}: left the processes {left}")
        return os.waitstatus_to_exitcode(status), output.read_text(errors="replace")

    def _kill(self, session: int) -> None:
        for pid in _session(session):
            os.kill(pid, 9)


def _be(words: list[str], output: Path, work: Path, temporary: Path, cold: bool) -> NoReturn:
    """Be the command, in a session of its own."""
    code = 1
    try:
        os.setsid()
        os.chdir(work)
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream, opened in ((0, os.open(os.devnull, os.O_RDONLY)), (1, descriptor), (2, descriptor)):
            os.dup2(opened, stream)
        os.environ |= {
            "TMPDIR": str(temporary),
            "HOME": str(temporary),
            "COLUMNS": "200",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        heed_interrupts()
        if cold:
            program = Path(sys.executable).with_name("erlbench")
            os.execv(program, [str(program), *words])
        sys.stdin, sys.stdout, sys.stderr = (
            open(0, closefd=False),
            open(1, "w", closefd=False),
            open(2, "w", closefd=False),
        )
        tempfile.tempdir, sys.argv = str(temporary), ["erlbench", *words]
        sys.path[:] = [path for path in sys.path if path and Path(path).resolve() != work]
        from erlbench.__main__ import main
        from tests.campaign.warm import _fork_the_next_server

        _fork_the_next_server()
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for one in (sys.stdout, sys.stderr):
            one.flush()
        os._exit(code)


def snapshot(folder: Path, but: Iterable[Path]) -> dict[str, tuple[object, ...]]:
    """What stands below a folder, but for some paths: kinds, sizes, times and contents, without following links."""
    left_out, found = {str(path) for path in but}, {}
    waiting = [str(folder)]
    while waiting:
        for entry in os.scandir(waiting.pop()):
            if entry.path in left_out:
                continue
            state = entry.stat(follow_symlinks=False)
            kind = stat.S_IFMT(state.st_mode)
            if entry.is_dir(follow_symlinks=False):
                found[entry.path] = (kind,)
                waiting.append(entry.path)
            elif entry.is_symlink():
                found[entry.path] = (kind, os.readlink(entry.path))
            elif kind == stat.S_IFREG and state.st_size < LARGE:
                with open(entry.path, "rb") as file:
                    found[entry.path] = (kind, state.st_mtime_ns, state.st_ino, zlib.crc32(file.read()))
            else:
                found[entry.path] = (kind, state.st_mtime_ns, state.st_ino, state.st_size)
    return found


def differences(before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]) -> set[str]:
    """The paths that are not as they were."""
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def _session(session: int) -> list[int]:
    """The processes of a session that are no zombies."""
    return [pid for pid, fields in _processes() if int(fields[3]) == session and fields[0] not in "ZX"]


def _ticks(session: int) -> int:
    """The processor time of a session's processes, in clock ticks."""
    return sum(int(fields[11]) + int(fields[12]) for _, fields in _processes() if int(fields[3]) == session)


def _processes() -> Iterable[tuple[int, list[str]]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = Path("/proc", name, "stat").read_text()
            except OSError:
                continue
            yield int(name), text.rpartition(")")[2].split()
