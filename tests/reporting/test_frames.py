import pytest

from erlbench.reporting import build_report
from erlbench.reporting.options import ReportOptions
from tests.reporting.compare import curves_of, page_of
from tests.reporting.make_runs import make_run


@pytest.mark.parametrize(
    ("env", "settings", "frames", "paper"),
    [
        ("ALE/Pong-v5@paper", {}, 4, ["frames", "time"]),
        ("ALE/Pong-v5", {"frame_skip": 2}, 2, ["frames", "time"]),
        ("Ant-v5", {"frame_skip": 2}, None, ["timesteps", "time"]),
    ],
)
def test_only_axes_of_atari_count_frames(tmp_path, env, settings, frames, paper):
    path = make_run(tmp_path / "in", env, "openai-es", 0, [0, 4, 8])
    lines = [f"{name} = {value}\n" for name, value in settings.items()]
    with (path / "config.toml").open("a") as config:
        config.writelines(["\n[env_settings]\n", *lines])
    figure = curves_of(page_of(tmp_path / "in"))
    assert figure.paper == paper
    assert [[*curve.x] for curve in figure.data[figure.data.panel == "frames"].itertuples()] == (
        [[0, 1000 * frames, 2000 * frames]] if frames else []
    )


def test_an_axis_without_values_is_warned_of(tmp_path):
    make_run(tmp_path / "in", "Ant-v5", "cem", 0, [0, 4, 8])
    warnings = []
    build_report([tmp_path / "in"], tmp_path / "out", {}, None, warnings.append, ReportOptions(x="frames"))
    assert [text for text in warnings if "Ant-v5" in text and "frames" in text]
