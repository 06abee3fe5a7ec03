"""Commands that are wrong in random ways: one message, an exit code of the manual, nothing written."""

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
    "run --algo cem --env InvertedPendulum-v5 --total-timesteps 1000 --seeds 0-2",
    "run --algo td3,cem-rl --env InvertedPendulum-v5 --set hidden=16-16 --jobs 2",
    "run --algo openai-es@default --env Pendulum-v1 --env-set max_episode_steps=20 --name x",
    "run --study aes-rl-table-1 --profile smoke --slurm mem=8G --dry-run",
    "run --algo cma-es --env Pendulum-v1 --eval-episodes 5 --simulated-time 9 --out r",
    "show results",
    "list algos",
    "list studies -v",
)
OPTIONS = (
    "--algo --env --study --profile --seeds --total-timesteps --workers --set --env-set --config --eval-freq --jobs "
    "--eval-episodes --processes --device --out --name --slurm --simulated-time --pool"
)


def trial(trial: Trial) -> None:
    """A command of the manual with one to three changes, as a dry run."""
    draw = trial.random
    words = draw.choice(GOOD).split()
    for _ in range(draw.randint(1, 3)):
        words = _changed(words, draw)
    if words[:1] == ["run"]:
        words.insert(1, "--dry-run")  # where no option before it takes it as its value
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
    """One word left out, replaced or changed, or an option more."""
    place, value = draw.randrange(1, len(words) + 1), draw.choice(NUMBERS + TEXTS)
    word = "".join(words[place : place + 1])
    start = word[: draw.randrange(len(word) + 1)]
    middle = draw.choice([[], [value], [start + value], [word, draw.choice(OPTIONS.split()), value]])
    return [*words[:place], *middle, *words[place + 1 :]]
