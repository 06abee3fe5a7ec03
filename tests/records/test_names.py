"""What a run may be called: the same answer of every command, and nothing outside the folder of an export."""

import tomllib

import pytest
import tomli_w

import erlbench
from erlbench.records.run import is_environment, is_name
from erlbench.reporting.runs import find_runs
from tests.calls import call, refuse, succeed
from tests.reporting.make_runs import make_run

NAMES = (
    "/abs/path", "../x", "a/../../../../EVIL", "a/b", "..", ".", "-rf", "~", "a\nb", "a/", "", "x" * 201, "a\0",
    "\\\\host", "a$b_{c$", "a*",
)  # fmt: skip
ENVS = ("..", "../x", "a/../x", ".x", "x" * 201, "a\nb", "a*", "~/x", "-x", "a;b")


def test_names_that_runs_have_are_names():
    assert all(map(is_name, ("td3", "cem@no-extra-division", "aes-rl+1", "7_x", "openai-es-5ep-pop200-lstm")))
    assert all(map(is_environment, ("Hopper-v5@paper", "dm_control/walker-v0", "my_envs:X-v0", "erlbench/Ackley-v0")))
    assert not any(map(is_name, NAMES))
    assert not any(map(is_environment, ENVS))


@pytest.mark.parametrize("values", [{"name": "a/../../../../EVIL"}, {"env": "../x"}])
def test_a_name_that_no_run_has_is_refused_by_every_command(tmp_path, values):
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    run = make_run(tmp_path / "results", "Hopper-v5", "td3", 3, [1.0, 2.0])
    config = tomllib.loads((run / "config.toml").read_text())
    config["run"] |= values
    (run / "config.toml").write_text(tomli_w.dumps(config))
    assert erlbench.load_results(tmp_path / "results").cells["seed"].tolist() == [0]
    assert len(find_runs([tmp_path / "results"], lambda said: None)) == 1
    succeed("convert", tmp_path / "results", "--to", "tensorboard", "--out", tmp_path / "export")
    for words in (("show", run), ("play", run, "--no-video")):
        refuse(run, *words)
    assert call("verify", run).exit_code == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"results", "export"}
