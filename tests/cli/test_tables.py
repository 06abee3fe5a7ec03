"""Tables on a terminal are as wide as it is, and lose nothing."""

from __future__ import annotations

import re
import sys

import click
import pytest

from erlbench.cli.tables import print_table

COLUMNS = ("environment", "against cem", "std (pilots)", "difference", "seeds", "seeds, careful")
ROWS = [
    ("HalfCheetah-v5", "cem@no-extra-division", "824 (10), 1,087 (10)", "10 % (291)", 247, 412),
    ("Walker2d-v5@paper", "cem@no-extra-division", "169 (10), 233 (10)", "50 % (443)", 7, 10),
]


@pytest.fixture
def printed(monkeypatch, capsys):
    def at(width):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        print_table("", COLUMNS, ROWS)
        return click.unstyle(capsys.readouterr().out)

    return at


def test_each_row_is_one_line_where_there_is_room(printed):
    lines = printed(120).splitlines()
    assert len(lines) == 4
    assert lines[2].split("  ")[0] == "HalfCheetah-v5"


def test_a_narrow_terminal_gets_all_letters(printed):
    output = printed(50)
    assert max(map(len, output.splitlines())) <= 50
    letters = sorted("".join(str(value) for row in (COLUMNS, *ROWS) for value in row).replace(" ", ""))
    assert sorted(re.sub(r"[\s─]", "", output)) == letters
