"""The executor of learners without a program: `update` of a class of `learners/` by autograd."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np
import torch

from erlbench.algorithms.gradients.minibatches import Minibatches, Noise, Transitions
from erlbench.algorithms.gradients.programs.program import Program


class Autograd:
    """The minibatches and noise of a learner; each of its updates is a program of one operation.

    The learner has `settings`; `noises`, for how many actions of a minibatch noise is drawn; and `update(number, batch,
    noise)`, which returns the `reports` numbers of an update. A GPU records one update of each `kind`: what differs
    between two updates is on the device, or makes them different kinds.
    """

    block = 1

    def __init__(self, learner: Any, reports: int, device: str) -> None:
        settings = learner.settings
        self._programs = dict[Hashable, Program]()
        self._learner = learner
        self._minibatches = Minibatches(settings.policy, settings.batch_size, 1, device)
        self._noise = Noise((learner.noises, settings.batch_size, settings.policy.sizes[-1]), device)
        self.report = torch.zeros(reports, device=device)

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """A fresh minibatch, and its noise."""
        self._minibatches.draw(source, random)
        self._noise.draw(random)

    def update(self, number: int) -> list[Program]:
        """The program of the update `number`: one for all updates of its kind."""
        return [self._programs.setdefault(self.kind(number), [partial(self._update, number)])]

    def kind(self, number: int) -> Hashable:
        """What the update `number` does: here all do the same."""
        return None

    def _update(self, number: int) -> None:
        self.report.copy_(self._learner.update(number, self._minibatches[0], self._noise.values))
