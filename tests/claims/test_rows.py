"""Tables of measurements as evidence: read strictly, a seed once, and every number finite."""

from __future__ import annotations

import csv
import math
import re
import shutil
import tomllib

import numpy as np
import pytest

from erlbench.claims.evidence import Sources
from erlbench.claims.rows import measured_column, measurements_text, read_measurements
from erlbench.claims.standing import Standing, standing_of
from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.experiment.claims import Claim, ClaimPart, Evidence, load_claims
from erlbench.reporting.data.published import Published
from tests.claims.test_standing import TEXTS
from tests.runs import make_cell, run

SLOW, FAST = (2000.0, 2100.0, 2200.0, 1900.0, 2050.0), (1.0, 1.1, 0.9, 1.0, 1.05)


@pytest.fixture
def table(tmp_path):
    rows = [
        {"env": "E", "name": name, "seed": seed, "cpu_s": value}
        for name, values in (("slow", SLOW), ("fast", FAST)) for seed, value in enumerate(values)
    ]  # fmt: skip
    path = tmp_path / "rows.csv"
    path.write_text(measurements_text(rows))
    return path


def side(name, **more):
    return Evidence(rows="rows.csv", env="E", name=name, metric="cpu_s", **more)


def test_a_ratio_of_rows_is_tested_beside_the_margin(table):
    for margin, standing in ((1000.0, Standing.HOLDS), (3000.0, Standing.BOUNDED), (2030.0, Standing.OPEN)):
        part = ClaimPart(label="one", first=side("slow"), second=side("fast"))
        claim = Claim(id="c", parts=(part,), measure="ratio", null=1.0, margin=margin, lacks="text", **TEXTS)
        found = standing_of(claim, Sources(table.parent, Published([])))
        assert found.standing is standing
        (tested,) = found.parts
        assert tested.effect == pytest.approx(math.exp(np.log(SLOW).mean() - np.log(FAST).mean()))
        assert tested.runs == (5, 5)


def test_diversity_of_rows_is_the_mean_distance_of_pairs(tmp_path):
    rng, rows = np.random.default_rng(0), []
    means = {}
    for name, size in (("wide", 3.0), ("narrow", 1.0)):
        points = size * rng.normal(size=(8, 2))
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        means[name] = apart[np.triu_indices(8, 1)].mean()
        for seed, row in enumerate(apart):
            distances = {f"to_{other}": value for other, value in enumerate(row)}
            rows.append({"env": "E", "name": name, "seed": seed, "mean_distance": row.sum() / 7, **distances})
    (tmp_path / "rows.csv").write_text(measurements_text(rows))
    wide, narrow = (
        Evidence(rows="rows.csv", env="E", name=name, metric="mean_distance") for name in ("wide", "narrow")
    )
    for sides, standing in (((wide, narrow), Standing.HOLDS), ((narrow, wide), Standing.FAILS)):
        part = ClaimPart(label="one", first=sides[0], second=sides[1])
        found = standing_of(
            Claim(id="c", parts=(part,), measure="diversity", lacks="text", **TEXTS), Sources(tmp_path, Published([]))
        )
        assert found.standing is standing
        (tested,) = found.parts
        assert tested.effect == pytest.approx(means[sides[0].name] - means[sides[1].name])


def test_a_range_over_names_is_each_seeds_largest_score_less_its_smallest(tmp_path):
    names = {"cem-a": {"population": 6}, "cem-b": {"population": 12}}
    cells = [
        make_cell("cem", tmp_path / "runs", steps=400, seed=seed, name=name, settings=settings)
        for name, settings in names.items()
        for seed in range(3)
    ]
    assert run(*cells) == 0
    known = Sources(tmp_path, Published([]))
    asked = Evidence(
        runs=("runs",), env="InvertedPendulum-v5", names=(*names,), metric="population-return", generations=2
    )
    scores = {}
    for cell in cells:
        with (cell.directory / "train.csv").open() as file:
            first = [float(row["fitness_mean"]) for row in csv.DictReader(file)][:2]
        scores[cell.name, cell.seed] = sum(first) / 2
    found = known.measured(asked)
    expected = [abs(scores["cem-a", seed] - scores["cem-b", seed]) for seed in range(3)]
    np.testing.assert_allclose(found.scores, expected)
    assert found.seeds == (0, 1, 2)
    shutil.rmtree(next(cell.directory for cell in cells if (cell.name, cell.seed) == ("cem-b", 1)))
    assert "same seeds" in Sources(tmp_path, Published([])).measured(asked).problem


def test_rows_that_are_not_there_leave_a_part_open(table):
    known = Sources(table.parent, Published([]))
    assert "no rows of other on E" in known.measured(side("other")).problem
    assert "no rows of slow on E" in known.measured(Evidence(rows="none.csv", env="E", name="slow")).problem


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name", "nome", "no column name"),
        ("E,fast,1,", "E,fast,0,", "two rows of E fast 0"),
        ("1.05", "nan", "not finite"),
        ("1.05", "", "no numbers"),
        ("1.05\n", "", "no numbers"),
        ("cpu_s", "wall_s", "no numbers"),
    ],
)
def test_a_damaged_table_is_refused_by_its_name(old, new, words, table):
    table.write_text(table.read_text().replace(old, new, 1))
    with pytest.raises(UsageError, match=f"{re.escape(str(table))}.*{words}"):
        measured_column(table, "E", "fast", "cpu_s")


def test_a_table_that_is_no_regular_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_measurements(tmp_path)


def test_a_claim_with_a_program_names_it_in_place_of_a_run():
    claim = next(one for one in load_claims().values() if one.program)
    assert claim.command == claim.program
    with pytest.raises(UsageError, match=re.escape(claim.program)):
        arguments({"claim": claim.id})


def test_a_claim_has_one_command(tmp_path):
    path = tmp_path / "claims.toml"
    text = "\n".join(f'{key} = "x"' for key in (*TEXTS, "lacks", "program"))
    path.write_text(f'[claims.one]\n{text}\nrun = {{ algo = ["cem"] }}\n')
    assert tomllib.loads(path.read_text())
    with pytest.raises(UsageError, match="run and program"):
        load_claims(path)
