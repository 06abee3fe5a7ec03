"""A small study as a plan, by hand."""

from __future__ import annotations

from pathlib import Path

TEXT = """\
format = 2
title = "Wide or narrow"
why = "A test."
written = "2026-11-25"
seeds = 4
pilot_seeds = [0, 1]

[evaluation]
eval_freq = 250
eval_episodes = 2
final_episodes = 3

[test]
looks = [2, 4]

[[cells]]
label = "wide"
algo = "cem"
env = "InvertedPendulum-v5"
total_timesteps = 1000
set = { population = 4, elites = 2, hidden = [8] }

[[cells]]
label = "narrow"
name = "cem-narrow"
algo = "cem"
env = "InvertedPendulum-v5"
total_timesteps = 1000
set = { population = 4, elites = 2, hidden = [8], initial_variance = 1e-4 }

[[contrasts]]
a = "narrow"
b = "wide"
stretch = [250, 750]
"""


def write(path: Path, **changes: str) -> Path:
    """The plan in a file, with parts of its text replaced; `changes` are `old=new`."""
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
