"""docs/your-first-study.md: its files and commands, as a reader types them in an empty folder."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.calls import python

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[1] / "docs" / "your-first-study.md").read_text(encoding="utf-8")


def test_the_page_leads_to_an_answer(tmp_path):
    module, toml = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("python", "toml"))
    (tmp_path / "slider.py").write_text(module)
    (tmp_path / "studies.toml").write_text(toml)
    commands = [shlex.split(line, comments=True) for line in re.findall(r"^    (erlbench .*)$", PAGE, re.MULTILINE)]
    assert {words[1] for words in commands} >= {"run", "list", "report", "convert", "verify"}
    for words in commands:
        done = python("-m", "erlbench", *words[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr}"
    (study,) = json.loads((tmp_path / "report" / "verdict.json").read_text())["studies"]
    (pair,) = study["pairs"]
    assert pair["sentence"].startswith("Holds: td3 against cem"), pair["sentence"]
    assert (tmp_path / "paper" / "slider" / "paper-table.tex").is_file()
    assert (tmp_path / "slider.zip").is_file()
