"""Short runs of every algorithm and hashes of what they give; `python -m tests.golden` prints them for this machine.

The bits of a run depend on the kernels of this machine's matrix products and elementary functions. So hashes are
kept for each `arithmetic`, which is itself a hash: of what those functions return. `ERLBENCH_PRODUCTS` chooses whose
products they are, here as everywhere.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file
from threadpoolctl import threadpool_limits

from erlbench.algorithms import registry
from erlbench.machine import kernel
from tests.runs import all_rows, make_cell, run

FILE = Path(__file__).parent / "golden.json"
CELLS = {
    "td3": ("td3", {}),
    "td3, leaky-relu": ("td3", {"activation": "tanh", "critic_activation": "leaky-relu", "policy_delay": 1}),
    "sac": ("sac", {}),
    "sac, fixed temperature": ("sac", {"temperature": 0.2}),
    "sac, value network": ("sac", {"critic": "v1", "temperature": 1.0, "reward_scale": 5.0}),
    "crossq": ("crossq", {}),
    "ddpg": ("ddpg", {}),
    "multi-actor-td3": ("multi-actor-td3", {"actors": 2}),
    "cem-rl": ("cem-rl", {}),
    "cem-rl, sac": ("cem-rl", {"learner": "sac"}),
    "cem-rl, crossq": ("cem-rl", {"learner": "crossq"}),
    "cem-rl, ddpg": ("cem-rl", {"learner": "ddpg"}),
    "p-cem-rl": ("p-cem-rl", {}),
    "p-cem-rl, barriers": ("p-cem-rl", {"barriers": True}),
    "p-cem-rl, sac": ("p-cem-rl", {"learner": "sac"}),
    "p-cem-rl, ddpg": ("p-cem-rl", {"learner": "ddpg"}),
    "aes-rl": ("aes-rl", {}),
    "erl": ("erl", {"population": 3}),
    "esac": ("esac", {}),
    "trpo": ("trpo", {"rollout_steps": 250, "value_epochs": 4}),
    "ppo": ("ppo", {"rollout_steps": 250, "epochs": 4}),
    "cem": ("cem", {}),
    "openai-es": ("openai-es", {}),
    "cma-es": ("cma-es", {"hidden": (16,)}),
    "nevergrad": ("nevergrad", {"hidden": (16,)}),
    "snes": ("snes", {}),
    "ga": ("ga", {"parents": 2}),
    "ars": ("ars", {"directions": 2, "top": 1}),
    "pgpe": ("pgpe", {}),
    "evorainbow-exp": ("evorainbow-exp", {}),
    "pderl": ("pderl", {"population": 4, "memory": 300, "distillation_batch": 64}),
}
STEPS = {"td3": 700, "sac": 700, "crossq": 700, "ddpg": 700, "esac": 2400}  # the others need two generations
ASYNCHRONOUS = ("aes-rl",)  # with several processes its result depends on timing
SMALL = {"population": 4, "n_grad": 2, "elites": 2, "critic_block": 40}  # of CEM-RL and its kin
COLUMNS = {
    "eval.csv": ("timesteps", "critic_updates", "actor_updates"),
    "episodes.csv": ("r", "l"),
    "train.csv": ("critic_loss", "entropy", "temperature", "fitness_mean", "variance_mean", "f_z"),
}
SHAPES = {  # two processes can share their passes; with torch's products some are large enough for them
    kernel.NUMPY: {"hidden": (64, 48), "critic_hidden": (64, 48), "batch_size": 48},
    kernel.TORCH: {"hidden": (128, 96), "critic_hidden": (128, 96), "batch_size": 64},
}


def bits(name: str, folder: Path, processes: int = 0, **options) -> str:
    """The hash of a run's policy and rows; Pendulum is Python's and numpy's arithmetic, the same everywhere."""
    algo, changes = CELLS[name]
    defaults = SHAPES[kernel.products()] | ({} if algo in ("erl", "esac", "pderl") else SMALL)
    settings = {key: value for key, value in defaults.items() if hasattr(registry.find(algo).settings_type, key)}
    cell = make_cell(
        algo, folder, env="Pendulum-v1", steps=STEPS.get(algo, 1700), evaluate="after", settings=settings | changes
    )
    assert run(cell, processes=processes, **options) == 0
    rows = {file: [[row.get(name) for name in names] for row in all_rows(cell.directory)[file]]
            for file, names in COLUMNS.items()}  # fmt: skip
    assert int(rows["eval.csv"][-1][1]) > 20 or not registry.find(algo).critic_updates
    digest = hashlib.sha256(json.dumps(rows).encode())
    for key, array in sorted(load_file(cell.directory / "policy.safetensors").items()):
        digest.update(key.encode() + array.tobytes())
    return digest.hexdigest()[:16]


def arithmetic() -> str:
    """The hash of what this machine's products and functions return on one thread, as in a run."""
    digest = hashlib.sha256()
    with threadpool_limits(1):
        for array in _samples():
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _samples() -> Iterable[np.ndarray]:
    random = np.random.Generator(np.random.Philox(0))

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32)

    for rows in (24, 48, 384):
        for inputs, outputs in ((3, 64), (4, 64), (64, 48), (48, 1), (48, 64), (64, 1)):
            a, b, delta = normal(rows, inputs), normal(outputs, inputs), normal(rows, outputs)
            yield from (np.dot(a, b.T), np.dot(delta, b), np.dot(delta.T, a), np.matmul(delta.T, a))
            yield np.dot(b, a[0])  # a rollout's products
    x = normal(4801)
    yield from (np.tanh(x), np.sin(x.astype(np.float64)), np.exp(x))
    if kernel.products() == kernel.TORCH:
        yield from _large()
    t = torch.from_numpy(x)
    for function in (torch.tanh, torch.exp, lambda v: torch.log(v.abs()), lambda v: v.view(-1, 1).sum(0)):
        yield function(t).numpy()
    yield torch.dot(t, t).numpy()
    yield torch.lerp(t, t.flip(0), 0.005).numpy()
    parameters = [[torch.from_numpy(normal(4801))] for _ in range(2)] + [[torch.zeros(4801)] for _ in range(2)]
    more = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.01, "eps": 1e-8}
    torch._fused_adam_(*parameters, [], [torch.ones(())], amsgrad=False, maximize=False, **more)
    yield parameters[0][0].numpy()


def _large() -> Iterable[np.ndarray]:
    """The products that another library than numpy may compute."""
    random = np.random.Generator(np.random.Philox(1))
    for rows in (24, 64, 512):
        a, b, delta = (
            torch.from_numpy(random.standard_normal(shape, dtype=np.float32))
            for shape in ((rows, 128), (96, 128), (rows, 96))
        )
        for x, y in ((a, b.mT), (delta, b), (delta.mT, a)):
            yield torch.mm(x, y).numpy()


def main() -> None:
    """Print the hashes of one process as JSON; with `--write WORDS` keep them, WORDS say which kernels these are."""
    if sys.argv[1:] and sys.argv[1] != "--write":
        sys.exit("usage: python -m tests.golden [--write WORDS]")
    with tempfile.TemporaryDirectory() as folder:
        found = {name: bits(name, Path(folder) / str(index)) for index, name in enumerate(CELLS)}
    entry = {arithmetic(): {"machine": " ".join(sys.argv[2:]), "hashes": found}}
    if sys.argv[1:2] == ["--write"]:
        known = json.loads(FILE.read_text()) if FILE.exists() else {}
        FILE.write_text(json.dumps(known | entry, indent=1) + "\n")
    print(json.dumps(entry, indent=1))


if __name__ == "__main__":
    main()
