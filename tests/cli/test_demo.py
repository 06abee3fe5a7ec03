"""`erlbench demo` from its start to the film, with a small budget."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from erlbench.cli import cli


@pytest.mark.slow
@pytest.mark.needs("osmesa")
def test_it_ends_with_a_report_and_a_film(tmp_path):
    result = CliRunner().invoke(cli, ["demo", "--out", str(tmp_path / "demo"), "--total-timesteps", "2000"])
    assert result.exit_code == 0, result.stderr
    assert "cem        final scores " in result.stdout
    assert "cem" in (tmp_path / "demo" / "report" / "index.html").read_text()
    [film] = (tmp_path / "demo").glob("swimmer.*")
    assert film.stat().st_size > 10_000
    assert str(film) in result.stdout.replace("\n", "")
