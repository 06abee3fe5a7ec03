"""Where the time of a rollout's step goes: python -m benchmarks.rollout_profile [ENV] [WIDTH-WIDTH].

Each part is played alone through the steps of the same episodes, in turns; processor time. `policy` and `environment`
are what inference takes beside its products and a step beside its physics, in loops of their own; `the rest` is what
the whole takes beside all of these: the loop, the resets, and that each part finds the caches as the others left them.
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402

from benchmarks.harness import cpu_seconds, median, take_turns  # noqa: E402
from benchmarks.rollouts import Bench  # noqa: E402
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


def main(env_id: str = "HalfCheetah-v5", hidden: str = "400-300") -> None:
    """Print one line per part."""
    store = Store.create()
    workspace = Workspace(store)
    try:
        first, second = map(int, hidden.split("-"))
        parts = Parts(env_id, (first, second), workspace)
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
    main(*sys.argv[1:])
