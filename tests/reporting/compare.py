"""Comparisons, tables and charts in a form that tests can ask."""

import pytest
from scipy import stats

from erlbench.reporting import build_report
from erlbench.reporting.cells import list_rows
from erlbench.reporting.figures import learning_curves
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.page_cells import make_all_runs_page, score_page
from erlbench.reporting.pairs import compare_pairs
from erlbench.reporting.runs import find_runs, read_run, runs_frame
from erlbench.reporting.score import FINAL, cut_runs
from erlbench.reporting.scores import scores_table
from erlbench.reporting.studies import make_study_pages
from tests.calls import call
from tests.reporting.make_studies import make_study


def run_report(*words):
    """What `erlbench report` prints, in one line; it must succeed."""
    done = call("report", *words)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def write_report(results, warn=lambda warning: None, *, out=None, studies=(), profile=None, named=False, **options):
    """The folder of the report of all runs below a folder, by default beside that one."""
    out = out or results.parent / "report"
    options |= {"results": (results,), "out": out, "study": tuple(studies) if named else ()}
    build_report(ReportOptions(**options), dict(studies), profile, warn)
    return out


def read(path):
    return path.read_text(encoding="utf-8")


def comparison_of(tmp_path, study=None, profile=None, warn=pytest.fail):
    (page,) = make_study_pages(study or make_study(), find_runs([tmp_path], warn), profile, warn)
    return score_page(page, FINAL)


def page_of(*folders, warn=pytest.fail, at=None, **options):
    """All runs of folders as they stand on the page of all runs; `at` and `options` are those of the report."""
    runs = find_runs(folders, warn)
    return score_page(make_all_runs_page(cut_runs(runs, at, warn) if at else runs, at=at), **options)


def rank_p(a, b):
    """The larger p of both tests of ranks; Brunner and Munzel's has none where the samples do not overlap."""
    exact = stats.mannwhitneyu(a, b, method="exact").pvalue
    return exact if max(a) < min(b) or max(b) < min(a) else max(exact, stats.brunnermunzel(a, b).pvalue)


def load_run(path, warn):
    """One run of a folder, a row of the frame of runs."""
    return next(runs_frame([read_run(path, warn)]).itertuples())


def find_rows(folders, warn):
    """The runs of folders that count, rows of the frame of runs."""
    return list(find_runs(folders, warn).itertuples())


def pairs_of(page):
    """The comparisons of a page."""
    return list_rows(compare_pairs(page))


def scores_of(page):
    """The table of scores of a page."""
    return scores_table(page, compare_pairs(page))


def curves_of(page, group=None, **options):
    """The learning curves of a group of the page, the first by default."""
    return learning_curves(page, group or page.groups[0], ReportOptions(**options))


def means_of(drawing, panel="timesteps"):
    """The curves of a panel by their labels."""
    return {curve.label: curve for curve in drawing.data[drawing.data.panel == panel].itertuples()}


def runs_of(drawing, panel="timesteps"):
    """The names of the single runs of a panel, by the groups of their curves."""
    return {mean.group: [name for name, *_ in mean.runs] for mean in means_of(drawing, panel).values() if mean.runs}


def rows_of(table, names=(0, 1)):
    """The printed rows by the texts of two columns."""
    printed = [[cell.text for cell in row] for row in table.cells]
    return {tuple(row[name] for name in names): dict(zip(table.header, row, strict=True)) for row in printed}
