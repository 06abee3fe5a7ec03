"""Tables on a terminal: no word is broken where there is room for all."""

from __future__ import annotations

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


def test_no_word_is_broken_where_all_fit(printed):
    output = printed(80)
    assert max(map(len, output.splitlines())) <= 80
    words = {word for row in (COLUMNS, *ROWS) for value in row for word in str(value).split()}
    assert words <= set(output.split())


def test_each_row_is_one_line_where_there_is_room(printed):
    lines = printed(120).splitlines()
    assert len(lines) == 4
    assert lines[2].split("  ")[0] == "HalfCheetah-v5"


def test_a_narrow_terminal_gets_all_of_the_first_column(printed):
    output = printed(50)
    assert max(map(len, output.splitlines())) <= 50
    assert "Walker2d-v5@paper" in output


def test_a_path_is_broken_after_a_slash_where_it_does_not_fit(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table("A title of more letters than the table below it has", ("directory", "steps", "time"),
                [("results/HalfCheetah-v5/aes-rl@fixed-ratio/seed-000", "1,000,000", "12 min")])  # fmt: skip
    lines = [line.rstrip() for line in click.unstyle(capsys.readouterr().out).splitlines()]
    assert lines[:2] == ["A title of more letters than the table below it", "has"]
    assert lines[4:] == ["results/HalfCheetah-v5/          1,000,000  12 min", "aes-rl@fixed-ratio/seed-000"]


def test_a_word_as_wide_as_its_column_keeps_the_space_before_it(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "29")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table("", ("claim", "stands on"), [("digits-thousand", "our measurements")])
    words = click.unstyle(capsys.readouterr().out).split()
    assert words[-3:] == ["digits-thousand", "our", "measurements"]
