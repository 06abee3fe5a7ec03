"""Which published means are drawn beside learning curves."""

from __future__ import annotations

import pytest

from erlbench.experiment.study import Profile
from erlbench.reporting.data.published import load_published
from erlbench.reporting.figures.curves import Curves
from erlbench.reporting.options import ReportOptions
from tests.reporting.compare import comparison_of
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study


@pytest.mark.parametrize(
    ("env", "steps", "told"),
    [
        ("HalfCheetah-v5", 950_000, "Dotted: mean published in AES-RL paper, Table 3, on HalfCheetah-v2."),
        ("HalfCheetah-v5", 1_050_000, "Dotted: mean published in AES-RL paper, Table 3, on HalfCheetah-v2."),
        ("HalfCheetah-v5", 850_000, "Published final values are left out: they belong to another budget."),
        ("HalfCheetah-v5", 1_150_000, "Published final values are left out: they belong to another budget."),
        ("Ant-v5", 1_000_000, "Published final values are left out: they belong to another environment (Ant-v2)."),
    ],
)
def test_a_published_mean_is_drawn_where_budget_and_environment_are_near(tmp_path, env, steps, told):
    make_run(tmp_path, env, "cem-rl", 0, [0, 5000], steps=[0, steps])
    published = {env: env.replace("v5", "v2")}
    study = make_study(profiles={"p": Profile((0,), steps, (env,))}, envs_published=published)
    page = comparison_of(tmp_path, study)
    caption = Curves(load_published(), ReportOptions()).plot(page, page.groups[0]).caption
    assert told in caption
    assert caption[0].endswith("Dotted: published mean.") == told.startswith("Dotted")
