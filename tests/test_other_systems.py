"""Commands that read results, where a system lacks what Linux has: no fcntl, and what else Windows does not have."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from tests.reporting.make_runs import make_run
from tests.runs import make_cell, run

WITHOUT_FCNTL = """
    import sys
    sys.modules['fcntl'] = None
    from pathlib import Path
    import erlbench.work.store
    erlbench.work.store.shared_memory_folder = lambda: Path.cwd()  # no process with locks finds it
"""
AS_WINDOWS = """
    import multiprocessing, os, signal, sys
    for name in ("fcntl", "resource", "termios", "pwd", "grp"):
        sys.modules[name] = None
    for name in ("SIGHUP", "SIGKILL"):
        delattr(signal, name)
    import matplotlib, numpy, pandas  # which have their own ways on Windows
    for name in ("O_NONBLOCK", "O_NOCTTY", "O_NOFOLLOW", "O_DIRECTORY", "sysconf", "fork"):
        delattr(os, name)
    os.supports_dir_fd.discard(os.open)
    multiprocessing.get_all_start_methods = lambda: ["spawn"]
"""
READ = """
    import sys
    from click.testing import CliRunner
    import erlbench
    import erlbench.__main__
    from erlbench.cli import cli

    for words in {commands}:
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 0, (words, result.output, result.exception)
    assert len(erlbench.load_results("results").cells) == {runs}
    print("read")
"""


def read(folder, system, commands, runs):
    code = textwrap.dedent(system) + textwrap.dedent(READ).format(commands=commands, runs=runs)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.stdout.endswith("read\n"), done.stderr


@pytest.mark.slow
def test_results_are_read_and_verified_without_fcntl(tmp_path):
    assert run(make_cell("cem", tmp_path / "results", steps=300)) == 0
    assert run(make_cell("cem", tmp_path / "others", steps=300, seed=1)) == 0
    commands = [
        ["show", "results"],
        ["report", "results", "others", "--side-by-side"],
        ["verify", "results"],
        ["report", "results", "--formats", "png"],
    ]
    read(tmp_path, WITHOUT_FCNTL, commands, 1)
    assert (tmp_path / "report" / "index.html").is_file()


@pytest.mark.slow
def test_results_are_read_without_what_windows_lacks(tmp_path):
    for seed in range(2):
        for name in ("cem", "td3"):
            for env in ("Ant-v5", "Hopper-v5", "Swimmer-v5", "Walker2d-v5"):
                make_run(tmp_path / "results", env, name, seed, [0, 50, 100])
                make_run(tmp_path / "others", env, name, seed, [0, 40, 90])
    run_folder = "results/Ant-v5/cem/seed-000"
    commands = [
        ["show", "results"],
        ["show", run_folder],
        ["report", "results", "others", "--side-by-side"],
        ["report", "results", "--formats", "png"],
    ]
    read(tmp_path, AS_WINDOWS, commands, 16)
    assert len(list((tmp_path / "report").rglob("curves-*.png"))) >= 4
