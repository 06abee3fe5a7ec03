"""Whose matrix products are faster here, numpy's or PyTorch's: `python -m benchmarks.programs.products`.

For the larger products of one network's update, one thread, the shortest of many turns. What it prints decides nothing:
learners follow the rule of `erlbench.work.kernel.products`.
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

from collections.abc import Callable, Iterator, Sequence  # noqa: E402
from functools import partial  # noqa: E402

import click  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

from benchmarks.harness import wall_seconds  # noqa: E402
from erlbench.work import kernel  # noqa: E402

SHAPES = (((23, 256, 256), 256), ((23, 400, 300), 100), ((376, 256, 256), 256), ((23, 64, 64), 100))
TURNS, WORK = 25, 2e7  # turns, of so many multiply-adds each


@click.command()
def main() -> None:
    """Print a table: the products of one network's update by numpy and by PyTorch."""
    torch.set_num_threads(1)
    print("| product | multiply-adds | numpy | PyTorch | numpy / PyTorch |\n|---|---|---|---|---|")
    for sizes, batch in SHAPES:
        for name, a, b in _products(sizes, batch):
            out, work = torch.zeros(len(a), b.shape[1]), len(a) * b.numel()
            arrays = [tensor.numpy() for tensor in (a, b, out)]
            calls = partial(np.dot, *arrays), partial(torch.mm, a, b, out=out)
            times = _shortest(calls, max(5, int(WORK / work)))
            print(f"| {name} | {work} | {1e6 * times[0]:.1f} | {1e6 * times[1]:.1f} | {times[0] / times[1]:.2f} |")
    print(f"\nlearners here: {kernel.products()}; {kernel.in_words(kernel.describe())}")


def _products(sizes: tuple[int, ...], batch: int) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """Of a layer's forward pass, of its input's gradient and of its weights' gradient."""
    for inputs, outputs in zip(sizes, sizes[1:]):
        x, weights, delta = torch.randn(batch, inputs), torch.randn(outputs, inputs), torch.randn(batch, outputs)
        layer = f"{inputs} to {outputs}, batch {batch}"
        yield f"{layer}: forward", x, weights.mT
        yield f"{layer}: input", delta, weights
        yield f"{layer}: weights", delta.mT, x


def _shortest(calls: Sequence[Callable[[], object]], times: int) -> np.ndarray:
    """Seconds of each call in its fastest turn; they take turns."""
    return np.min([[wall_seconds(partial(_repeat, call, times)) / times for call in calls] for _ in range(TURNS)], 0)


def _repeat(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


if __name__ == "__main__":
    main()
