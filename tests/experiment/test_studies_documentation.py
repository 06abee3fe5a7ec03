"""Tables of docs/papers.md have each item of the documents and each entry of studies, docs/studies.md has each key."""

from __future__ import annotations

import csv
import re
from dataclasses import fields
from fnmatch import fnmatchcase
from pathlib import Path

from erlbench.cli import COMMANDS
from erlbench.experiment.studies import STUDY_KEYS
from erlbench.experiment.study import PLACES, Entry, Pair, Profile, Study
from erlbench.experiment.toml_file import toml_key
from tests.experiment.study_cell_list import table_studies

DOCS = Path(__file__).parents[2] / "docs"


def read_rows(name):
    """The rows of a table of docs/data, without its header."""
    with open(DOCS / "data" / name, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def test_every_entry_says_how_it_differs():
    rows = read_rows("paper-entries.csv")
    entries = [(study, entry.name) for study, found in table_studies().items() for entry in found.entries]
    assert {len(row) for row in rows} == {4}
    patterns = [(study.strip("`"), entry.strip("`")) for study, entry, *_ in rows]
    assert all(all(row) for row in rows)
    for study, name in entries:
        matching = [pattern for where, pattern in patterns if where == study and fnmatchcase(name, pattern)]
        assert matching, f"{name} of {study} has no row"
        assert name in matching or len(matching) == 1, f"{name} of {study} has several rows: {matching}"
    for where, pattern in patterns:
        assert any(where == study and fnmatchcase(name, pattern) for study, name in entries), (
            f"no entry {where} {pattern}"
        )


ITEMS = {  # of the documents, in their words
    "AES-RL paper": "figure 1, figure 2, figure 3, table 1, table 2, table 3, appendices A and C, appendix B, "
    "appendix D, appendix F",
    "ESAC paper": "figure 1, figure 2 left, figure 2 center, figure 2 right, figure 3, figure 4, figure 5, "
    "figure 6 left, figure 6 right, figure 7, figure 8, table 1, appendix D",
    "OpenAI-ES paper": "table 1, table 2, table 3, figure 1, figure 2",
    "OpenAI-ES blog": "data efficiency curves, code sample, Humanoid in ten minutes, videos of humanoids, MNIST",
    "GoodAI blog": "drawing of the parallelisation, plot, seconds per generation on Ant, videos of learned policies",
}


def test_every_item_of_the_documents_has_a_row():
    rows = read_rows("paper-items.csv")
    for document, items in ITEMS.items():
        found = [item for where, item, *_ in rows if where == document]
        for item in items.split(", "):
            assert any(re.match(rf"{item}\b", one) for one in found), f"{document}: {item}"
    named = {name for row in rows for name in re.findall(r"--study ([\w-]+)", row[2])}
    assert named == set(table_studies())
    for document, item, command, status in rows:
        assert status, item
        assert (command == "–") == (not status.startswith(("runs", "plays", "listed", "times", "`train"))), item
        for words in re.findall(r"`erlbench (\w+)", command):
            assert words in COMMANDS, f"{document}, {item}: {words}"


def test_all_keys_are_documented():
    """The table of docs/studies.md has each key of a study, a profile, an entry and a pair, and says of which it is."""
    rows = read_rows("study-keys.csv")
    listed = {(name, of) for row in rows for name in re.findall(r"`([\w-]+)`", row[0]) for of in row[1].split(", ")}
    kinds = {"study": Study, "profile": Profile, "entry": Entry, "pair": Pair}
    keys = {(toml_key(item), of) for of, kind in kinds.items() for item in fields(kind)}
    keys |= {(key, "study") for key in STUDY_KEYS}
    assert listed == keys - {(name, "study") for name in PLACES}
