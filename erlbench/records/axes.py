"""What curves are drawn over: steps, frames, training time, updates, generations or episodes."""

from __future__ import annotations

from typing import NamedTuple


class Axis(NamedTuple):
    """One horizontal axis; `column`: of a run's evaluations; `train_column`: of train.csv, with `seconds`."""

    label: str
    words: str  # for captions
    column: str
    train_column: str
    note: str  # what it counts


AXES = {
    "timesteps": Axis(
        "Training steps", "training steps", "timesteps", "timesteps",
        "Environment steps that the budget counts, the papers' axis.",
    ),
    "simulator-steps": Axis(
        "Simulator steps used", "simulator steps used", "learning_steps", "",
        "Training steps and steps that measure the mean for learning: all that an algorithm uses.",
    ),
    "all-steps": Axis(
        "All simulator steps", "all simulator steps", "all_steps", "",
        "Training steps, steps that measure the mean for learning, steps of the evaluations, and PPO's replayed ones.",
    ),
    "frames": Axis(
        "Frames", "frames of the game", "frames", "",
        "Training steps x `frame_skip`, the papers' axis of Atari; other environments have none.",
    ),
    "time": Axis(
        "Training time", "training time without evaluation", "seconds", "seconds",
        "Time on the clock without the evaluations of the reported policy and without pauses.",
    ),
    "updates": Axis(
        "Critic updates", "critic updates", "critic_updates", "critic_updates",
        "Gradient updates of the critic; none for evolution strategies.",
    ),
    "generation": Axis(
        "Generations", "generations", "generation", "generation",
        "Generations, which differ between algorithms.",
    ),
    "episodes": Axis("Training episodes", "training episodes", "episodes", "", "Episodes of training."),
}  # fmt: skip
