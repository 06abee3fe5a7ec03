"""`erlbench convert`: what it refuses."""

import shutil
from pathlib import Path

import pytest

from tests.calls import refuse, succeed
from tests.reporting.make_runs import make_run
from tests.tables import cells

DATA = Path(__file__).parents[1] / "importing/data"


MISTAKES = """
mine | --to
mine --to bundle | --out FILE.zip
mine --to tensorboard --origin me | --origin
x.zip --out mine | --to
mine --from sb3 --out y.zip | not both
mine --to wandb | tensorboard
logs --from sb3 | --origin
x.zip --from sb3 --origin me | nothing that can be imported
logs --origin a\x01b | --origin
gone --origin me | gone
"""


@pytest.mark.parametrize(("words", "named"), cells(MISTAKES))
def test_a_mistake_is_one_line(tmp_path, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "mine", "Foo-v5", "cem", 0, [0, 10])
    shutil.copytree(DATA / "sb3", tmp_path / "logs")
    succeed("convert", "mine", "--out", "x.zip")
    before = sorted(tmp_path.rglob("*"))
    refuse(named, "convert", *words.split())
    assert sorted(tmp_path.rglob("*")) == before
