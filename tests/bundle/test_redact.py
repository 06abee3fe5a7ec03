"""What is taken out of texts, and what is not."""

from __future__ import annotations

import pytest

from erlbench.bundle.redact import ADDRESS, HOME, HOST, PATH, TOKEN, USER, Redactor, worth_hiding


def redactor() -> Redactor:
    return Redactor(users={"alice"}, hosts={"bigbox"})


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("/home/carol/venv/bin/erlbench run", "~/venv/bin/erlbench run", {HOME}),
        ("python /root/x.py --out /Users/carol/r", "python ~/x.py --out ~/r", {HOME}),
        ("run --out /scratch/lab/alice/results", "run --out <path>/results", {PATH, USER}),
        ("run --out=/scratch/results --x 1", "run --out=<path>/results --x 1", {PATH}),
        ("WANDB_API_KEY=abc erlbench run", "WANDB_API_KEY=<token> erlbench run", {TOKEN}),
        ("run --wandb-token abc --seeds 3", "run --wandb-token <token> --seeds 3", {TOKEN}),
        ("run --api-key=abc", "run --api-key=<token>", {TOKEN}),
        ("run hf_abcdefghijklmnop", "run <token>", {TOKEN}),
        ("run 0123456789abcdef0123456789abcdef01234567", "run <token>", {TOKEN}),
        ("get https://bob:pw@example.org/x.toml", "get https://<token>@example.org/x.toml", {TOKEN}),
        ("run --address ray://10.0.0.12:10001", "run --address ray://<address>:10001", {ADDRESS}),
        ("ssh alice@bigbox", "ssh <user>@<host>", {USER, HOST}),
    ],
)
def test_a_command_line_loses_what_names_somebody(before, after, kinds):
    found = redactor()
    assert found.text(before, command=True) == after
    assert {one.kind for one in found.found} == kinds


@pytest.mark.parametrize(
    "text",
    [
        "erlbench run --algo td3,cem-rl --env HalfCheetah-v5 --seeds 5 --total-timesteps 1000000",
        "erlbench run --algo aes-rl@paper --env my_envs:Reach-v0 --set hidden=400-300 --out results/mine",
        "erlbench run --config ../other/config.toml --env dm_control/walker-walk-v0 --info KEY",
        "erlbench run --algo openai-es --set noise_table=250000000 --env function:rosenbrock",
        "malice and alices stay; bigboxes too",
    ],
)
def test_an_ordinary_command_line_stays_as_it_is(text):
    assert redactor().text(text, command=True) == text


def test_a_user_of_one_path_is_looked_for_elsewhere():
    found = redactor()
    found.text("/home/carol/x")
    assert found.text("by carol") == "by <user>"


def test_redacting_again_changes_nothing():
    found = redactor()
    once = found.text("/home/carol/x --token abc /a/b/c alice@bigbox 10.1.2.3 WANDB_KEY=1", command=True)
    again = Redactor(users={"alice", "carol"}, hosts={"bigbox"})
    assert again.text(once, command=True) == once
    assert not again.found


def test_a_token_is_not_shown_in_the_preview():
    found = redactor()
    found.text("--token abcdefgh", command=True)
    (one,) = found.found
    assert "abcdefgh" not in str(one)


def test_the_identity_of_a_problem_and_all_numbers_stay():
    meta = {"command_line": "/home/carol/x", "identity": {"files": {"/home/carol/m.xml": "ab"}}, "cores": 2,
            "starts": [{"command_line": "/home/carol/x"}]}  # fmt: skip
    assert redactor().values(meta) == {
        **meta, "command_line": "~/x", "starts": [{"command_line": "~/x"}],
    }  # fmt: skip


def test_names_that_say_nothing_are_not_looked_for():
    assert worth_hiding(("root", "me", "carol", None, "")) == {"carol"}
