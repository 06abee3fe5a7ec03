"""ES against backpropagation on scikit-learn's digits: updates and processor time until 90 % of held-out images.

python -m benchmarks.digits results/claims/digits

Both sides have the same network and first weights, the same loss, minibatches of the same size, and Adam with the same
step size. They differ in the gradient: OpenAI-ES estimates it from returns, PyTorch computes it. Measuring the accuracy
takes no part of the times. One thread.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
import numpy as np
import torch
from threadpoolctl import threadpool_limits

from erlbench.claims.rows import measurements_text
from erlbench.envs.digits import images
from erlbench.envs.registry import problem
from erlbench.machine.description import describe
from erlbench.policy import PolicySpec, initial_parameters
from erlbench.running.in_process import SearchHere
from erlbench.work.seeding import Purpose, generator

ENVIRONMENT, ES, BACKPROPAGATION = "erlbench/Digits-v0", "openai-es", "backpropagation"
ACCURACY, MINIBATCH, STEP_SIZE, HIDDEN, POPULATION = 0.9, 100, 0.01, 32, 100
SEEDS, MOST = range(5), 5000  # updates, after which a run has failed
SIZES = (64, HIDDEN, 10)
SETTINGS: Mapping[str, Any] = MappingProxyType(
    {  # what differs from the suite's OpenAI-ES; sigma, ranks and mirrored pairs are as they are
        "hidden": (HIDDEN,), "initialisation": "pytorch", "population": POPULATION, "episodes": MINIBATCH,
        "start_states": "generation", "learning_rate": STEP_SIZE, "l2": 0.0, "action_noise": 0.0,
        "normalise_observations": False,
    }
)  # fmt: skip


@dataclass(frozen=True)
class Reached:
    """A row of the table: what a run needed to `ACCURACY`."""

    env: str
    name: str
    seed: int
    updates: int
    images: int  # forward passes of one image
    cpu_s: float  # of the tasks of ES; of all of backpropagation
    process_s: float  # of the whole process, with the suite's loop
    accuracy: float  # on the held-out images


@dataclass
class Progress:
    """After an update."""

    parameters: np.ndarray
    cpu_s: float


def first_weights(seed: int) -> np.ndarray:
    """Of both sides, float32 `(size,)`."""
    return initial_parameters(SIZES, (seed, int(Purpose.PARAMETERS)))


def strategy(seed: int) -> Iterator[Progress]:
    """OpenAI-ES, update by update."""
    with SearchHere(ES, ENVIRONMENT, problem(ENVIRONMENT), SETTINGS, seed) as search:
        for _ in search.generations():
            yield Progress(search.parameters(), search.cpu_s)


def network(parameters: np.ndarray) -> torch.nn.Module:
    """PyTorch's form of the policy with these parameters."""
    made = torch.nn.Sequential(torch.nn.Linear(64, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 10))
    torch.nn.utils.vector_to_parameters(torch.from_numpy(parameters.copy()), made.parameters())
    return made


def backpropagation(seed: int) -> Iterator[Progress]:
    """Adam on the cross-entropy of minibatches, update by update."""
    made, random = network(first_weights(seed)), generator(seed, int(Purpose.MINIBATCH))
    pixels, labels = map(torch.from_numpy, images(held_out=False))
    optimiser, spent = torch.optim.Adam(made.parameters(), STEP_SIZE), 0.0
    while True:
        start = time.process_time()
        chosen = torch.from_numpy(random.integers(len(labels), size=MINIBATCH))
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(made(pixels[chosen]), labels[chosen]).backward()
        optimiser.step()
        spent += time.process_time() - start
        yield Progress(torch.nn.utils.parameters_to_vector(made.parameters()).detach().numpy(), spent)


def accuracy(parameters: np.ndarray) -> float:
    """The share of the held-out images whose largest logit is that of their label."""
    first, first_bias, last, last_bias = (
        PolicySpec(SIZES, "tanh", (), (), squashing="linear").split(parameters).values()
    )
    pixels, labels = images(held_out=True)
    logits = np.tanh(pixels @ first.T + first_bias) @ last.T + last_bias
    return float(np.mean(logits.argmax(axis=1) == labels))


SIDES = {ES: (strategy, POPULATION * MINIBATCH), BACKPROPAGATION: (backpropagation, MINIBATCH)}


def reach(name: str, seed: int, wanted: float = ACCURACY) -> Reached:
    """Train one side until it has the accuracy."""
    train, per_update = SIDES[name]
    process, found = 0.0, 0.0
    start = time.process_time()
    for updates, progress in enumerate(train(seed), 1):
        process += time.process_time() - start
        found = accuracy(progress.parameters)
        if found >= wanted:
            return Reached(
                ENVIRONMENT,
                name,
                seed,
                updates,
                updates * per_update,
                round(progress.cpu_s, 6),
                round(process, 6),
                found,
            )
        if updates >= MOST:
            break
        start = time.process_time()
    raise SystemExit(f"{name}, seed {seed}: an accuracy of {found:.3f} after {MOST} updates")


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
def main(out: Path) -> None:
    """Write rows.csv and machine.json to the folder OUT."""
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for name in SIDES:
            reach(name, 10**6, 0.2)  # imports and first calls take no part
        rows = [reach(name, seed) for seed in SEEDS for name in SIDES]
    out.mkdir(parents=True, exist_ok=True)
    (out / "rows.csv").write_text(measurements_text([asdict(row) for row in rows]), encoding="utf-8")
    (out / "machine.json").write_text(json.dumps(describe(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
