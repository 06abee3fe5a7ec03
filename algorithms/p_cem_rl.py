"""P-CEM-RL: CEM-RL made for parallel workers, still synchronous: the schedule `phases` in place of `chain`.

Lee, Lee, Shin, Kweon, "An Efficient Asynchronous Method for Integrating Evolutionary and Gradient-based Policy
Search" (AES-RL), NeurIPS 2020, section 4.1, after its public code (github.com/KyunghyunLee/aes-rl). The whole critic
phase comes first, and all RL individuals train on its final critic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.cem_rl import CEMRLSettings
from erlbench.algorithms.hybrid import OURS, SCHEDULES, Hybrid
from erlbench.algorithms.schedule.chain import AT_LEAST
from erlbench.algorithms.schedule.phases import PhasesSettings
from erlbench.settings import setting

CODE: Mapping[str, Any] = {"tau_cem": 0.90, "batch_size": 256, "random_warmup": True, "warmup_gate": AT_LEAST}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "barriers": {"barriers": True},
    "code": {**CODE, "barriers": True},
    "parallel-critic": {"parallel_critic": True},
}


@dataclass(frozen=True)
class PCEMRLSettings(PhasesSettings, CEMRLSettings):
    """Hyper-parameters of P-CEM-RL."""

    schedule: str = setting("phases", "in which order: see docs/hybrids.md", OURS, choices=tuple(SCHEDULES))

    def __post_init__(self) -> None:
        PhasesSettings.__post_init__(self)
        CEMRLSettings.__post_init__(self)


class PCEMRL(Hybrid[PCEMRLSettings]):
    """P-CEM-RL: CEM-RL whose RL individuals all train on the generation's final critic, in parallel."""

    settings_type: ClassVar[type] = PCEMRLSettings
    default_workers: ClassVar[int | None] = 5
