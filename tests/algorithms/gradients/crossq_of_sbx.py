"""CrossQ's critics by another program: SBX (MIT), as crossq_of_sbx.json has them.

`python tests/algorithms/gradients/crossq_of_sbx.py` computes the file anew, in an environment with sbx-rl 0.28 alone.
"""

import json
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_suffix(".json")
OBSERVATION, ACTION, BATCH, HIDDEN, CRITICS = 3, 2, 7, (8, 4), 2
SIZES = (OBSERVATION + ACTION, *HIDDEN, 1)
DISCOUNT, TEMPERATURE, CALLS = 0.97, 0.3, (0, 150_000)


def inputs():
    """Critics `(critics, size)`, a minibatch, next actions and their log probabilities, all float64."""
    random = np.random.default_rng(11)
    weights = sum((inputs + 1) * outputs for inputs, outputs in zip(SIZES, SIZES[1:]))
    features, rows = sum(SIZES[:-1]), []
    for _ in range(CRITICS):
        scale, bias, mean = random.uniform(0.5, 1.5, features), *random.normal(size=(2, features))
        variance = np.exp(random.normal(size=features))
        rows.append(np.concatenate([0.5 * random.normal(size=weights), scale, bias, 2 * mean, variance]))
    widths = (OBSERVATION, ACTION, 1, 1, OBSERVATION, ACTION, 1)
    columns = [random.normal(size=(BATCH, width)) for width in widths]
    columns[3] = (columns[3] > -0.5).astype(float)  # whether the episode goes on
    return np.array(rows), columns


def computed(rows, columns, calls):
    """Loss, its gradient `(critics, size)` (0 for statistics), and the moved statistics `(critics, 2, features)`."""
    import jax
    import jax.numpy as jnp
    from sbx.crossq.policies import VectorCritic

    jax.config.update("jax_enable_x64", True)
    observations, actions, rewards, continues, following, next_actions, next_log = columns
    edges = np.cumsum([0, *SIZES[:-1]])
    norms = rows[:, -4 * edges[-1] :].reshape(CRITICS, 4, -1)
    parameters, statistics, start = {}, {}, 0
    for layer, (width, outputs) in enumerate(zip(SIZES, SIZES[1:])):
        part, name = slice(*edges[layer : layer + 2]), f"BatchRenorm_{layer}"
        kernel = rows[:, start : start + width * outputs].reshape(CRITICS, outputs, width).transpose(0, 2, 1)
        start += (width + 1) * outputs
        parameters[f"Dense_{layer}"] = {"kernel": kernel, "bias": rows[:, start - outputs : start]}
        parameters[name] = {"scale": norms[:, 0, part], "bias": norms[:, 1, part]}
        constants = {"r_max": np.full(CRITICS, 3), "d_max": np.full(CRITICS, 5), "steps": np.full(CRITICS, calls)}
        statistics[name] = {"mean": norms[:, 2, part], "var": norms[:, 3, part], **constants}
    critics = VectorCritic(net_arch=HIDDEN, n_critics=CRITICS)

    def loss(parameters):
        values, moved = critics.apply(
            {"params": {"VmapCritic_0": parameters}, "batch_stats": {"VmapCritic_0": statistics}},
            jnp.concatenate([observations, following]),
            jnp.concatenate([actions, next_actions]),
            train=True,
            mutable=["batch_stats"],
        )
        now, after = jnp.split(values, 2, axis=1)
        y = rewards + DISCOUNT * continues * (after.min(axis=0) - TEMPERATURE * next_log)
        return 0.5 * ((jax.lax.stop_gradient(y) - now) ** 2).mean(axis=1).sum(), moved["batch_stats"]["VmapCritic_0"]

    (value, moved), gradients = jax.value_and_grad(loss, has_aux=True)(parameters)
    vectors = []
    for k in range(CRITICS):
        dense = [gradients[f"Dense_{layer}"] for layer in range(len(SIZES) - 1)]
        parts = [part for each in dense for part in (each["kernel"][k].T.ravel(), each["bias"][k])]
        norm = [gradients[f"BatchRenorm_{layer}"][what][k] for what in ("scale", "bias") for layer in range(len(dense))]
        vectors.append(np.concatenate([*parts, *norm, np.zeros(2 * edges[-1])]))
    names = [f"BatchRenorm_{layer}" for layer in range(len(SIZES) - 1)]
    statistics = [[np.concatenate([moved[name][what][k] for name in names]) for what in ("mean", "var")]
                  for k in range(CRITICS)]  # fmt: skip
    return float(value), np.array(vectors), np.array(statistics)


if __name__ == "__main__":
    results = {}
    for calls in CALLS:
        value, gradients, statistics = computed(*inputs(), calls)
        results[calls] = {"loss": value, "gradients": gradients.tolist(), "statistics": statistics.tolist()}
    FILE.write_text(json.dumps(results) + "\n", encoding="utf-8")
