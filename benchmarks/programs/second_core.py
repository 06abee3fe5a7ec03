"""What a second core can give to an update, and what stacked actors would give.

python -m benchmarks.programs.second_core

Each lane is timed alone, on one core, as the shortest of many turns. An update on two cores takes as long as the longer
lane of each stage, and a few microseconds to hand over. This needs no idle machine; what two cores do together on one
is in `make bench ARGS=learning`.
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Sequence  # noqa: E402
from pathlib import Path  # noqa: E402

import click  # noqa: E402
import torch  # noqa: E402

from benchmarks.claims.updates import SHAPE, SIZES, Bench, random_replay  # noqa: E402
from erlbench.algorithms.gradients.learners.blocks import ActorBlock, CriticBlock  # noqa: E402
from erlbench.algorithms.gradients.learners.minibatches import arithmetic  # noqa: E402
from erlbench.algorithms.gradients.programs.adam import Adam  # noqa: E402
from erlbench.algorithms.gradients.programs.networks import ALL, Network  # noqa: E402
from erlbench.algorithms.gradients.programs.program import Lane, Program, Stage  # noqa: E402
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate  # noqa: E402
from erlbench.policy import parameter_count  # noqa: E402
from erlbench.work.store import Store  # noqa: E402
from erlbench.work.workspace import Workspace  # noqa: E402

REPEATS, HAND_OVER = 40, 4e-6  # turns; seconds
ACTORS = 5  # of CEM-RL that learn


@click.command()
def main() -> None:
    """Print what each lane of an update takes alone, and what stacked actors take."""
    torch.set_num_threads(1)
    store = Store.create()
    print(
        "| update | one core, ms | two cores, ms | ratio | stage: lanes in ms, time without it |\n|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder, arithmetic():
        view = random_replay(Path(folder), *SHAPE)
        for hidden, batch in SIZES:
            bench = Bench(*SHAPE, hidden, batch, view, Workspace(store))
            for name, programs, weights in updates(bench):
                print(row(f"{name} {hidden[0]}-{hidden[1]} batch {batch}", programs, weights))
        print("\n| passes and Adam step of an actor | each alone, ms | stacked, ms |\n|---|---|---|")
        for hidden, batch in SIZES:
            alone, stacked = (passes((SHAPE[0], *hidden, SHAPE[1]), batch, count) for count in (1, ACTORS))
            print(
                f"| {ACTORS} actors {hidden[0]}-{hidden[1]} batch {batch} | {1e3 * alone:.3f} | {1e3 * stacked:.3f} |"
            )
    store.close()


def updates(bench: Bench) -> list[tuple[str, Sequence[Program], Sequence[float]]]:
    """Programs, and how often each runs per update."""
    policy, critic, batch = bench.policy, bench.critic_spec, bench.batch
    critics = CriticBlock(
        CriticUpdate(
            policy,
            critic,
            batch,
            learning_rate=1e-3,
            discount=0.99,
            tau=0.005,
            target_noise=0.2,
            noise_clip=0.5,
            temperature=0.2,
        ),
        "cpu",
    )
    actor = ActorBlock(ActorUpdate(policy, critic, batch, 1e-3, 0.2), "cpu")
    return [
        ("TD3", bench.learners["td3"].programs, (0.5, 0.5)),
        ("SAC", bench.learners["sac"].programs, (1.0,)),
        ("critic", critics.programs[:2], (1 / 8, 1.0)),
        ("actor", actor.programs[:1], (1.0,)),
    ]


def row(name: str, programs: Sequence[Program], weights: Sequence[float]) -> str:
    """A line of the first table."""
    one = sum(weight * sum(map(sum, seconds(p.one))) for p, weight in zip(programs, weights))
    two, parts = 0.0, []
    for program, weight in zip(programs, weights):
        for lanes in seconds(program.two):
            two += weight * (max(lanes) + HAND_OVER * (len(lanes) > 1))
            if len(lanes) > 1:
                parts.append((lanes, weight * (min(lanes) - HAND_OVER)))
    shares = "; ".join(f"{' ∥ '.join(f'{1e3 * x:.2f}' for x in lanes)}: +{100 * x / two:.0f} %" for lanes, x in parts)
    return f"| {name} | {1e3 * one:.2f} | {1e3 * two:.2f} | {one / two:.2f} | {shares} |"


def seconds(stages: Sequence[Stage]) -> list[list[float]]:
    """The shortest time of each lane."""
    return [[shortest(lane) for lane in stage] for stage in stages]


def shortest(lane: Lane) -> float:
    """Seconds of the fastest of `REPEATS` turns."""
    best = float("inf")
    for _ in range(REPEATS):
        begun = time.perf_counter()
        for operation in lane:
            operation()
        best = min(best, time.perf_counter() - begun)
    return best


def passes(sizes: tuple[int, ...], batch: int, count: int) -> float:
    """Seconds per network of forward, backward, gradients and Adam of `count` networks with a leading axis."""
    parameters = 0.1 * torch.randn(count, parameter_count(sizes))
    gradients, observations = torch.zeros_like(parameters), torch.randn(batch, sizes[0])
    network = Network(sizes, "tanh", "tanh", parameters, observations, gradients)
    flat = torch.zeros(2, parameters.numel())
    adam = Adam(parameters.view(-1), gradients.view(-1), flat, 1e-3)
    network.output_gradient.fill_(1.0)
    return shortest([*network.forward(ALL), *network.backward(ALL), *network.gradients(ALL), *adam.step()]) / count


if __name__ == "__main__":
    main()
