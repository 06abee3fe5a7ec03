"""Tables on a terminal are as wide as it is, and lose nothing."""

import re
import sys

import click

from erlbench.cli.tables import print_table


def test_a_table_is_no_wider_than_its_terminal_and_loses_no_letter(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    rows = [("environment", "against cem", "seeds"), ("Walker2d-v5@paper", "cem@no-extra-division", "824 (10), 7")]
    letters = sorted("".join(sum(rows, ())).replace(" ", ""))
    for width in (30, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        print_table("", rows[0], rows[1:])
        lines = click.unstyle(capsys.readouterr().out).splitlines()
        assert max(map(len, lines)) <= width
        assert sorted(re.sub(r"[\s─]", "", "".join(lines))) == letters
    assert len(lines) == 3


def test_a_dumb_terminal_without_a_width_gets_all_and_no_codes(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "0")
    print_table("title", ["a"], [["b"]])
    assert capsys.readouterr().out.split() == ["title", "a", "─", "b"]
