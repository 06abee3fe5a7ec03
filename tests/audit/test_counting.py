"""Steps and gradient updates of every algorithm, counted from outside: by the environment, and by PyTorch's Adam."""

from collections import Counter

import pytest

from erlbench.algorithms import registry
from tests.audit.counting import ID, CountingPendulum
from tests.runs import make_cell, rows, run

# Parameters of the networks on 4 observations and 1 action, with hidden layers of 16 and 16, bias included; CrossQ's
# have those of their normalisation.
ACTORS = {5 * 16 + 17 * 16 + 17: 1.0, 17 * 16: 17 * 16 / 369, 5 * 16 + 17: 97 / 369, 5 * 16 + 17 * 16 + 2 * 17: 1.0,
          5 * 16 + 17 * 16 + 2 * 17 + 4 * (4 + 16 + 16): 1.0}  # fmt: skip
TEMPERATURE = 1
TWINS = (
    "td3",
    "sac",
    "esac",
    "cem-rl",
    "p-cem-rl",
    "multi-actor-td3",
    "aes-rl",
    "evorainbow-exp",
)  # the others have one critic, or an Adam for both
DISTILS = ("pderl",)  # the steps towards parents, of an Adam of their own, are no updates of the learner
SETTINGS = {"start_timesteps": 200, "critic_hidden": (16, 16)}


@pytest.fixture
def adam(monkeypatch):
    """Calls of PyTorch's fused Adam, by the number of parameters that they move; and steps of its optimisers."""
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    calls = Counter()
    fused = torch._fused_adam_

    def counted(parameters, *arguments, **more):
        calls[sum(parameter.numel() for parameter in parameters)] += 1
        return fused(parameters, *arguments, **more)

    monkeypatch.setattr(torch, "_fused_adam_", counted)
    steps = []
    hook = register_optimizer_step_post_hook(lambda *_: steps.append(1))
    yield calls, steps
    hook.remove()


@pytest.mark.slow
@pytest.mark.parametrize("algo", list(registry.ALGORITHMS))
def test_counts_are_those_of_environment_and_optimiser(algo, tmp_path, adam):
    calls, optimiser_steps = adam
    known = registry.find(algo).settings_type.__dataclass_fields__
    settings = {name: value for name, value in SETTINGS.items() if name in known}
    cell = make_cell(algo, tmp_path, f"tests.audit.counting:{ID}", 500, settings=settings, eval_freq=200)
    CountingPendulum.steps = 0
    assert run(cell) == 0
    last = {name: int(value) for name, value in rows(cell.directory, "eval.csv")[-1].items() if value.isdigit()}
    columns = ("timesteps", "fitness_timesteps", "evaluation_timesteps", "replayed_timesteps")
    assert CountingPendulum.steps == sum(last[name] for name in columns)
    goes_on = algo in ("ppo", "trpo")  # in the episode that an iteration left open
    assert bool(last["replayed_timesteps"]) == goes_on
    if goes_on:
        assert len(optimiser_steps) == last["critic_updates"] > 0
        iterations = len(rows(cell.directory, "train.csv"))  # the step of TRPO's policy is none of the optimiser's
        assert last["actor_updates"] == (last["critic_updates"] if algo == "ppo" else iterations)
        return
    actor = sum(share * calls.pop(size, 0) for size, share in ACTORS.items())
    assert actor > last["actor_updates"] if algo in DISTILS else actor == pytest.approx(last["actor_updates"])
    calls.pop(TEMPERATURE, None)
    assert sum(calls.values()) == (2 if algo in TWINS else 1) * last["critic_updates"]
    learns = {"critic_hidden", "critic_block", "batch_size"} & set(known)
    assert bool(last["critic_updates"]) == bool(learns)
