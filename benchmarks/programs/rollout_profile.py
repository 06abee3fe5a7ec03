"""Where the time of a rollout's step goes: python -m benchmarks.programs.rollout_profile [ENV] [WIDTH-WIDTH].

Each part is played alone through the steps of the same episodes, in turns; processor time. `policy` and `environment`
are what inference takes beside its products and a step beside its physics, in loops of their own; `the rest` is what
the whole takes beside all of these: the loop, the resets, and that each part finds the caches as the others left them.
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

import re  # noqa: E402
from collections.abc import Callable  # noqa: E402

import click  # noqa: E402

from benchmarks.claims.rollouts import Bench  # noqa: E402
from benchmarks.harness import checked_by, cpu_seconds, median, take_turns  # noqa: E402
from erlbench.envs.registry import problem  # noqa: E402
from erlbench.policy import NumpyPolicy  # noqa: E402
from erlbench.work.store import Store  # noqa: E402
from erlbench.work.workspace import Workspace  # noqa: E402

REPEATS = 9


class Parts(Bench):
    """The two halves of the loop alone; seconds per environment step."""

    def inference(self) -> float:
        """Actions for an observation, as many as there are steps."""
        policy, (observation, _) = NumpyPolicy(self.spec, self.parameters), self.env.reset(seed=0)

        def run() -> None:
            for _ in range(self.steps):
                policy.denormalise(policy.normalised(observation))

        return cpu_seconds(run) / self.steps

    def environment(self) -> float:
        """The environment's steps with the actions of the rollout, resets left out."""
        seconds = 0.0
        for seed, (_, _, actions, _) in enumerate(self.episodes):
            self.env.reset(seed=seed)
            seconds += cpu_seconds(_steps(self.env.step, actions))
        return seconds / self.steps


def _steps(step: Callable[[object], object], actions: list[object]) -> Callable[[], None]:
    def run() -> None:
        for action in actions:
            step(action)

    return run


class Widths(click.ParamType):
    """Two hidden layers, as in 400-300."""

    name = "WIDTH-WIDTH"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """The two widths. Fails for anything else."""
        if not (match := re.fullmatch(r"([1-9]\d*)-([1-9]\d*)", value)):
            self.fail(f"'{value}' is not WIDTH-WIDTH; give 400-300, for example", param, ctx)
        return int(match[1]), int(match[2])


@click.command()
@click.argument("env_id", metavar="[ENV]", default="HalfCheetah-v5", callback=checked_by(problem))
@click.argument("hidden", metavar="[WIDTH-WIDTH]", default="400-300", type=Widths())
def main(env_id: str, hidden: tuple[int, int]) -> None:
    """Print where the time of a rollout's step goes, one line per part."""
    store = Store.create()
    workspace = Workspace(store)
    try:
        parts = Parts(env_id, hidden, workspace)
        candidates = {
            "whole": parts.ours, "physics": parts.physics, "products": parts.products,
            "inference": parts.inference, "environment": parts.environment, "torch": parts.torch,
        }  # fmt: skip
        seconds = take_turns(candidates, REPEATS)
    finally:
        workspace.close()
        store.close()
    whole, physics, products = seconds["whole"], seconds["physics"], seconds["products"]
    rows = {
        "physics": physics,
        "the policy's products": products,
        "policy": seconds["inference"] - products,
        "environment": seconds["environment"] - physics,
        "the rest": whole - seconds["inference"] - seconds["environment"],
        "whole": whole,
        "floor": physics + products,
        "eager torch": seconds["torch"],
    }
    for name, values in rows.items():
        print(f"{name:22} {1e6 * median(values):7.1f} us {median(values / whole):7.1%}")


if __name__ == "__main__":
    main()
