"""`index.html` without its folder: what it links to is in it."""

from __future__ import annotations

import base64
import os
import re

from erlbench.reporting import build_report
from erlbench.reporting.pages import alone
from tests.reporting.make_runs import make_run

HREF = re.compile(r'<a href="([^"]*)"(?: download="([^"]*)")?')


def report(tmp_path):
    for name in ("td3", "cem"):
        make_run(tmp_path / "runs", "Ant-v5", name, 0, [0, 1, 2])
    index = build_report([tmp_path / "runs"], tmp_path / "out", {}, None, lambda _: None)
    return index, HREF.findall(index.read_text())


def test_no_link_leads_out_of_the_page_and_each_file_is_as_it_is_in_the_folder(tmp_path):
    index, links = report(tmp_path)
    page = index.read_text()
    outside = [target for target, _ in links if not target.startswith(("#", "data:"))]
    assert outside == []
    assert all(f'id="{target[1:]}"' in page for target, _ in links if target.startswith("#"))
    held = {name: base64.b64decode(target.partition(",")[2]) for target, name in links if name}
    assert held["cells.csv"] == (index.parent / "cells.csv").read_bytes()
    assert held["scores.csv"] == (index.parent / "all-runs" / "scores.csv").read_bytes()
    assert any(name.endswith(".png") for name in held)


def test_what_has_no_room_is_named_and_no_link(tmp_path, monkeypatch):
    monkeypatch.setattr(alone, "BUDGET", 4000)
    index, links = report(tmp_path)
    page = index.read_text()
    assert sum(len(target) for target, name in links if name) < 4000 + 100 * len(links)
    assert [name for _, name in links if name]  # the small tables come first
    assert not [name for _, name in links if name.endswith(".png")]
    assert ".png in the folder of the report" in page
    assert not [target for target, _ in links if not target.startswith(("#", "data:"))]


def test_a_file_without_room_is_not_read(tmp_path):
    """A table may be longer than what is ever read at once."""
    (tmp_path / "long.csv").write_bytes(b"")
    os.truncate(tmp_path / "long.csv", 5 << 30)
    (tmp_path / "index.html").write_text('<a href="long.csv">CSV</a>')
    alone.embed_files(tmp_path / "index.html")
    assert (tmp_path / "index.html").read_text() == '<span title="long.csv in the folder of the report">CSV</span>'
