"""`erlbench demo` from its start to the film, with a small budget."""

import pytest

from erlbench import api
from erlbench.cli import demo
from erlbench.errors import Interrupted
from erlbench.running import command
from tests.calls import call, refuse, succeed


@pytest.mark.slow
@pytest.mark.needs("osmesa")
def test_it_ends_with_a_report_and_a_film(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "STEPS", 2000)
    output = succeed("demo", "--out", folder := tmp_path / "my demo")
    assert (folder / "report/index.html").is_file()
    [film] = folder.glob("swimmer.*")
    assert f"Next: erlbench show '{folder / 'results'}'\n" in output
    assert film.stat().st_size > 10_000
    assert str(film) in output.replace("\n", "")


def test_a_file_in_the_place_of_its_folder_is_one_line(tmp_path):
    (tmp_path / "demo").write_text("mine")
    refuse(tmp_path / "demo", "demo", "--out", tmp_path / "demo")


def test_after_ctrl_c_it_names_itself_as_the_command_to_go_on_and_the_python_function_none(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr(command, "run_all", lambda *arguments: [command.INTERRUPTED])
    folder = tmp_path / "my demo"
    result = call("demo", "--out", folder)
    assert result.exit_code == 130
    assert result.stderr.endswith(f": erlbench demo --out '{folder}'\n")
    with pytest.raises(Interrupted, match="the same call"):
        api.run("cem", "Pendulum-v1", out=str(tmp_path), quiet=False)
    assert "erlbench.run" not in capfd.readouterr().err
