"""Commands and TOML files that are wrong in random ways: one message, an exit code of the manual, nothing written."""

from __future__ import annotations

import random
from contextlib import chdir

from tests.campaign.trials import Trial, check, check_message, invoke

NUMBERS = ("0", "-1", "1e12", "1e400", "nan", "inf", "9" * 400, "1.5", "0x10", "١٢", "1_0", " 7 ", "", "none", "true")
TEXTS = (
    "", " ", "-", "--", "=", "=x", "x=", "a=b=c", "../..", "/dev/full", "/", "\x01", "\x1b[31m", "é" * 300, "a" * 5000,
    "$HOME", "'", '"', "a$b_{c$", "[", "{}", "@", "@@", "a@b@c", ":", "m:", ":m", "no.such:Env-v0", "%s", "\n",
)  # fmt: skip
GOOD = (
    ["run", "--algo", "cem", "--env", "InvertedPendulum-v5", "--total-timesteps", "1000", "--seeds", "0-2"],
    ["run", "--algo", "td3,cem-rl", "--env", "InvertedPendulum-v5", "--set", "hidden=16-16", "--jobs", "2"],
    ["run", "--algo", "openai-es@default", "--env", "Pendulum-v1", "--env-set", "max_episode_steps=20", "--name", "x"],
    ["run", "--study", "aes-rl-table-1", "--profile", "smoke", "--slurm", "mem=8G", "--dry-run"],
    ["run", "--algo", "cma-es", "--env", "Pendulum-v1", "--eval-episodes", "5", "--simulated-time", "9", "--out", "r"],
    ["show", "results"],
    ["list", "algos"],
    ["list", "studies", "-v"],
)
OPTIONS = (
    "--algo", "--env", "--study", "--profile", "--seeds", "--total-timesteps", "--workers",
    "--set", "--env-set", "--config", "--eval-freq", "--eval-episodes", "--processes", "--jobs", "--device",
    "--out", "--name", "--slurm", "--simulated-time", "--pool",
)  # fmt: skip
TOML = """\
total_timesteps = 1000
eval_freq = 500
[run]
env = "InvertedPendulum-v5"
algo = "cem"
seed = 3
workers = 10
[settings]
population = 10
elites = 5
hidden = [16, 16]
initial_variance = 0.1
[env_settings]
max_episode_steps = 20
"""
VALUES = (
    "", "-1", "0", "1e400", "nan", "[]", "[[[[]]]]", "{}", '"x"', '""', "true", "1979-05-27", "9" * 400, '"""', "'",
    "[" * 500, "[" * 500 + "]" * 500, '"' + "a" * 5000 + '"', '"\\u001b[31m"', '"a$b_{c$"',
)  # fmt: skip


def command(trial: Trial) -> None:
    """A command of the manual with one to three changes, as a dry run."""
    draw = trial.random
    words = list(draw.choice(GOOD))
    for _ in range(draw.randint(1, 3)):
        words = _changed(words, draw)
    if words[:1] == ["run"]:
        words.insert(1, "--dry-run")  # where no option before it takes it as its value
    _try(words, trial)


def toml(trial: Trial) -> None:
    """A --config file with one to four changes, as a dry run."""
    draw = trial.random
    text = TOML
    for _ in range(draw.randint(1, 4)):
        text = _edited(text, draw)
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    if draw.random() < 0.2:
        data[draw.randrange(len(data))] = draw.randrange(256)
    path = trial.folder / "my.toml"
    path.write_bytes(data)
    _try(["run", "--config", str(path), "--dry-run"], trial)


def _try(words: list[str], trial: Trial) -> None:
    here = trial.folder / "a" / "b"  # where `..` leads no further than the trial
    here.mkdir(parents=True)
    before = sorted(trial.folder.rglob("*"))
    with chdir(here):
        code, output = invoke(*words)
    trial.counts[f"exit code {code}"] += 1
    check_message(code, output, f"erlbench {words}")
    check(sorted(trial.folder.rglob("*")) == before, f"erlbench {words}: something was written")
    if code:
        lines = [line for line in output.splitlines() if line.startswith(("erlbench:", "Error", "Usage"))]
        check(lines, f"erlbench {words}: no message: {output[-300:]}")


def _changed(words: list[str], draw: random.Random) -> list[str]:
    if len(words) < 2:
        return [*words, draw.choice(TEXTS)]
    place = draw.randrange(1, len(words))
    match draw.randrange(6):
        case 0:
            return words[:place] + words[place + 1 :]
        case 1:
            return [*words[:place], draw.choice(NUMBERS + TEXTS), *words[place + 1 :]]
        case 2:
            return [*words, draw.choice(OPTIONS), draw.choice(NUMBERS + TEXTS)]
        case 3:
            return [*words, f"{draw.choice(OPTIONS)}={draw.choice(NUMBERS + TEXTS)}"]
        case 4:
            word = words[place]
            cut = draw.randrange(len(word) + 1)
            return [*words[:place], word[:cut] + draw.choice(TEXTS) + word[cut:], *words[place + 1 :]]
        case _:
            other = draw.randrange(1, len(words))
            words = list(words)
            words[place], words[other] = words[other], words[place]
            return words


def _edited(text: str, draw: random.Random) -> str:
    lines = text.splitlines() or [""]
    place = draw.randrange(len(lines))
    key, equals, _ = lines[place].partition("=")
    match draw.randrange(5):
        case 0:
            del lines[place]
        case 1 if equals:
            lines[place] = f"{key}= {draw.choice(VALUES)}"
        case 2:
            lines.insert(place, lines[draw.randrange(len(lines))])
        case 3:
            lines[place] = lines[place][: draw.randrange(len(lines[place]) + 1)]
        case _:
            lines.insert(place, f"{draw.choice(['x', 'seed', 'run', 'settings', 'algo', '[run]', '[[a]]'])} = 1")
    return "\n".join(lines) + "\n"
