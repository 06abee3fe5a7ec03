"""CEM-RL: CEM whose first individuals are trained by TD3's gradients before they are evaluated.

Pourchot and Sigaud, "CEM-RL: Combining evolutionary and gradient-based methods for policy search", ICLR 2019,
algorithm 1, with the constants of github.com/apourchot/CEM-RL. The algorithm reads in five files: this one, the search
`search/cem.py`, the schedule `chain` (`schedule/chain.py`: who learns on which critic), the coupling `half`
(`coupling/half.py`: the first `n_grad` individuals are trained), and the losses, `gradients/learners/td3.py`.
`schedule/generations.py` keeps the books of all schedules with generations, in `ask` and `tell`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.hybrid import Hybrid, HybridSettings
from erlbench.algorithms.schedule.chain import INDIVIDUAL, ChainSettings
from erlbench.algorithms.search.cem import CEM_RL, CEMSearchSettings
from erlbench.settings import at_least_zero

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "ddpg": {"learner": "ddpg"},  # CEM-DDPG of the paper
    "sac": {"learner": "sac"},
    "no-extra-division": {"extra_ke_division": False},
    # CEM-RL as the authors of AES-RL re-implemented it
    "aes-rl-code": {"tau_cem": 0.90, "random_warmup": True, "warmup_gate": INDIVIDUAL},
}


@dataclass(frozen=True)
class CEMRLSettings(ChainSettings, CEMSearchSettings, HybridSettings):
    """Hyper-parameters of CEM-RL."""

    n_grad: int = at_least_zero(5, "individuals of a generation that are trained by gradients", CEM_RL)


class CEMRL(Hybrid[CEMRLSettings]):
    """CEM-RL: half of CEM's population trained by gradients (TD3; DDPG, SAC) on a shared critic."""

    settings_type: ClassVar[type] = CEMRLSettings
