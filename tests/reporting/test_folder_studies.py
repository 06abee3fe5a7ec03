"""Studies of folders of results: study.toml."""

from erlbench.experiment.studies import load_studies
from erlbench.reporting import requested_report
from erlbench.reporting.options import ReportOptions
from tests.files import edit, read_json
from tests.reporting.make_runs import make_run

STUDY = """[studies.{name}]
title = "{name}"
envs = ["Ant-v5"]
seeds = 1
total_timesteps = 2000
entries = [{{ algo = "cem" }}]
"""


def test_a_study_whose_runs_all_repeat_another_folders_has_a_page_without_runs(tmp_path):
    for name in ("first", "second"):
        make_run(tmp_path / name, "Ant-v5", "cem", 0, [0, 4, 8])
        (tmp_path / name / "study.toml").write_text(STUDY.format(name=name))
    warnings = []
    folders = (tmp_path / "first", tmp_path / "second")
    index, _ = requested_report(ReportOptions(results=folders, out=tmp_path / "out"), warnings.append)
    assert [text for text in warnings if ": repeats seed 0 of " in text]
    assert {page.parent.name for page in index.parent.glob("*/index.md")} == {"first", "second", "all-runs"}


def test_studies_of_one_name_are_one_unless_they_ask_otherwise(tmp_path):
    text = STUDY.format(name="shared")
    for folder, seed in (("first", 0), ("second", 1), ("third", 2)):
        (tmp_path / folder).mkdir()
        (file := tmp_path / folder / "study.toml").write_text(text.replace("seeds = 1", f"seeds = [{seed}]"))
        digest = load_studies(file)["shared"].sha256
        make_run(tmp_path / folder, "Ant-v5", "cem", seed, [0, 4, 8], starts=[{"studies": {"shared": digest}}])
    second, third = (tmp_path / name / "study.toml" for name in ("second", "third"))
    edit(second, 'title = "shared"', 'title = "Reworded"')
    third.write_text(third.read_text() + "final_episodes = 3\n")
    for names, runs, kept in ((("first", "second"), 2, 0), (("first", "third"), 1, 1)):
        warnings = []
        folders = tuple(tmp_path / name for name in names)
        index, _ = requested_report(ReportOptions(results=folders, out=tmp_path / "out"), warnings.append)
        assert len([text for text in warnings if str(third) in text]) == kept
        (answered,) = read_json(index.parent / "verdict.json")["studies"]
        assert len(answered["differences"]) == kept
        assert f",{runs}," in (index.parent / "shared/scores.csv").read_text().splitlines()[1]
