"""Completion of values, as bash, zsh and fish ask for it, and their scripts in the shells themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("erlbench")


def ask(shell: str, *words: str) -> list[str]:
    """What the program offers for the last word."""
    environment = {**os.environ, "_ERLBENCH_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(words)}
    environment["COMP_CWORD"] = words[-1] if shell == "fish" else str(len(words) - 1)
    done = subprocess.run([PROGRAM], env=environment, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("run", "--algo", "p-c"), "p-cem-rl"),
        (("run", "--algo", "td3,cem@n"), "td3,cem@no-extra-division"),
        (("run", "--env", "Swimmer-v5@"), "Swimmer-v5@paper"),
        (("run", "--study", "goodai-l"), "goodai-lander"),
        (("run", "--profile", "la"), "laptop"),
        (("list", "envs", "LunarL"), "LunarLanderContinuous-v3"),
        (("dem",), "demo"),
    ],
)
def test_values_are_completed(words, offered):
    assert f"plain,{offered}" in ask("bash", "erlbench", *words)


def test_each_shell_is_answered_in_its_form():
    assert "aes-rl" in ask("zsh", "erlbench", "run", "--algo", "aes")
    assert any("aes-rl" in line for line in ask("fish", "erlbench", "run", "--algo", "aes"))


def test_the_script_of_bash():
    script = f'eval "$(_ERLBENCH_COMPLETE=bash_source {PROGRAM})"; complete -p erlbench'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip().endswith("_erlbench_completion erlbench")


@pytest.mark.needs("zsh")
def test_the_script_of_zsh():
    script = f'autoload -U compinit; compinit -u -D; eval "$(_ERLBENCH_COMPLETE=zsh_source {PROGRAM})"; '
    done = subprocess.run(["zsh", "-f", "-c", script + "print $_comps[erlbench]"], capture_output=True, text=True)
    assert done.stdout.strip() == "_erlbench_completion", done.stderr


@pytest.mark.needs("fish")
def test_fish_completes(tmp_path):
    script = f'_ERLBENCH_COMPLETE=fish_source {PROGRAM} | source; complete -C "erlbench run --algo p-c"'
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["fish", "-c", script], capture_output=True, text=True, env=environment, timeout=60)
    assert "p-cem-rl" in done.stdout, done.stderr
