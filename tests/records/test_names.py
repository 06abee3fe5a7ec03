"""What a run may be called: the same answer of every command, and nothing outside the folder of an export."""

import shutil
import tomllib

import pytest
import tomli_w
from click.testing import CliRunner

import erlbench
from erlbench.cli import cli
from erlbench.errors import ErlbenchError
from erlbench.records.run import is_environment, is_name
from erlbench.reporting.runs import find_runs
from tests.reporting.make_runs import make_run

NAMES = (
    "/abs/path", "../x", "a/../../../../EVIL", "a/b", "..", ".", "-rf", "~", "a\nb", "a/", "",
    "x" * 201, "a\0", "\\\\host",
    "a$b_{c$", "a*",
)  # fmt: skip
ENVS = ("..", "../x", "a/../x", ".x", "x" * 201, "a\nb", "a*", "~/x", "-x", "a;b")


@pytest.fixture
def run(tmp_path):
    """A run whose name and environment can be changed, beside an honest one."""
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    return make_run(tmp_path / "results", "Hopper-v5", "td3", 3, [1.0, 2.0])


def rename(run, **values):
    path = run / "config.toml"
    config = tomllib.loads(path.read_text())
    config["run"] |= values
    path.write_text(tomli_w.dumps(config))


def invoke(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.mark.parametrize("values", [{"name": name} for name in NAMES if name] + [{"env": env} for env in ENVS])
def test_a_name_that_no_run_has_is_refused_by_every_command(run, tmp_path, values):
    rename(run, **values)
    kept = sorted(path for path in tmp_path.rglob("*") if "results" not in path.parts)
    with pytest.raises(ErlbenchError, match="none that a run can have"):
        _ = erlbench.load_results(tmp_path / "results").cells
    warnings = []
    assert len(find_runs([tmp_path / "results"], warnings.append)) == 1  # as `report` and `compare`
    assert "can have" in str(warnings[-1])
    for target in ("sb3", "tensorboard"):
        result = invoke("convert", tmp_path / "results", "--to", target, "--out", tmp_path / "export")
        assert result.exit_code == 2
    for words in (["show", run], ["verify", run], ["play", run, "--no-video"]):
        result = invoke(*words)
        assert result.exit_code == (1 if words[0] == "verify" else 2), result.output
        assert str(run) in "".join(result.output.split("\n"))
    shutil.rmtree(tmp_path / "export", ignore_errors=True)
    assert sorted(path for path in tmp_path.rglob("*") if "results" not in path.parts) == kept


def test_names_that_runs_have_are_names():
    assert all(map(is_name, ("td3", "cem@no-extra-division", "aes-rl+1", "7_x", "openai-es-5ep-pop200-lstm")))
    assert all(map(is_environment, ("Hopper-v5@paper", "dm_control/walker-v0", "my_envs:X-v0", "erlbench/Ackley-v0")))
    assert not any(map(is_name, NAMES))
    assert not any(map(is_environment, ENVS))
