"""`erlbench demo` from its start to the film, with a small budget."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from erlbench import api
from erlbench.cli import cli, demo
from erlbench.errors import Interrupted
from erlbench.running import command


@pytest.mark.slow
@pytest.mark.needs("osmesa")
def test_it_ends_with_a_report_and_a_film(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "STEPS", 2000)
    result = CliRunner().invoke(cli, ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.stderr
    assert "cem        final scores " in result.stdout
    assert "cem" in (tmp_path / "demo" / "report" / "index.html").read_text()
    [film] = (tmp_path / "demo").glob("swimmer.*")
    assert film.stat().st_size > 10_000
    assert str(film) in result.stdout.replace("\n", "")


def test_a_file_in_the_place_of_its_folder_is_one_line(tmp_path):
    (tmp_path / "demo").write_text("mine")
    result = CliRunner().invoke(cli, ["demo", "--out", str(tmp_path / "demo")])
    assert (result.exit_code, result.stderr.count("\n"), str(tmp_path / "demo") in result.stderr) == (2, 1, True)


@pytest.fixture
def interrupted(monkeypatch):
    """Every run is interrupted before it begins."""
    monkeypatch.setattr(command, "run_all", lambda *arguments: [command.INTERRUPTED])


def test_after_ctrl_c_it_names_itself_as_the_command_to_go_on(tmp_path, interrupted):
    folder = tmp_path / "my demo"
    result = CliRunner().invoke(cli, ["demo", "--out", str(folder)])
    assert result.exit_code == 130
    assert result.stderr.splitlines()[1:] == [
        f"erlbench: interrupted before the first checkpoint. To start again from 0: erlbench demo --out '{folder}'"
    ]


def test_an_interrupted_call_of_the_function_names_no_command(tmp_path, interrupted, capfd):
    with pytest.raises(Interrupted, match="the same call starts again from 0"):
        api.run("cem", "Pendulum-v1", out=str(tmp_path), quiet=False)
    assert "erlbench.run" not in capfd.readouterr().err
