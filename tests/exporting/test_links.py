"""Links in the folder of an export: nothing is written behind one."""

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from tests.reporting.make_runs import make_run


@pytest.mark.parametrize(
    ("target", "name"),
    [("monitor", "Hopper-v5/td3/seed-000/monitor.csv"), ("sb3", "Hopper-v5"), ("rliable", "scores.npz")],
)
def test_an_export_writes_nothing_behind_a_link(tmp_path, target, name):
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    aim = tmp_path / "aim"
    aim.mkdir() if name == "Hopper-v5" else aim.write_text("mine")
    link = tmp_path / "export" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(aim)
    words = ["export", tmp_path / "results", "--to", target, "--out", tmp_path / "export"]
    result = CliRunner().invoke(cli, list(map(str, words)))
    assert result.exit_code == 2
    assert str(link) in "".join(result.output.split("\n"))
    assert (list(aim.iterdir()) == []) if aim.is_dir() else (aim.read_text() == "mine")
