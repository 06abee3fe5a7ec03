"""Commands that read results, where a system lacks what Linux has: no fcntl, and what else Windows does not have."""

import textwrap

import pytest

from tests.calls import python
from tests.runs import make_cell, run

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
    MORE = []
"""


READ = """
    from pathlib import Path
    import erlbench
    import erlbench.__main__
    import erlbench.work.store
    from click.testing import CliRunner
    from erlbench.cli import cli

    erlbench.work.store.shared_memory_folder = lambda: Path.cwd()  # no process with locks finds it
    for words in (
        *MORE, "show results", "show results/InvertedPendulum-v5/cem/seed-000",
        "report results others --side-by-side --out sides", "report results --formats png",
    ):
        result = CliRunner().invoke(cli, words.split())
        assert result.exit_code == 0, (words, result.output, result.exception)
    if not MORE:
        refused = CliRunner().invoke(cli, ["verify", "results"])
        assert refused.exit_code == 2 and "needs Linux or macOS" in refused.stderr, refused.output
    assert len(erlbench.load_results("results").cells) == 1
    print("read")
"""


@pytest.mark.slow
def test_results_are_read_without_what_windows_lacks_and_verified_without_fcntl(tmp_path):
    for folder, seed in (("results", 0), ("others", 1)):
        assert run(make_cell("cem", tmp_path / folder, steps=300, seed=seed)) == 0
    for system in ("import sys\nsys.modules['fcntl'], MORE = None, ['verify results']\n", textwrap.dedent(AS_WINDOWS)):
        done = python("-c", system + textwrap.dedent(READ), cwd=tmp_path)
        assert done.stdout.endswith("read\n"), done.stderr
    assert [*(tmp_path / "report").rglob("curves-*.png")]
