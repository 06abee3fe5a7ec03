"""The suite's own environments, registered in Gymnasium when this module is imported.

Elsewhere: `import erlbench.envs.own; gymnasium.make("erlbench/CyclicMDP-v0")`.
"""

import gymnasium

from erlbench.envs.cyclic_mdp import CyclicMDP
from erlbench.envs.latency import Latency
from erlbench.envs.partially_observable_pendulum import PartiallyObservablePendulum

gymnasium.register("erlbench/CyclicMDP-v0", CyclicMDP, max_episode_steps=2000)
gymnasium.register("erlbench/PartiallyObservablePendulum-v0", PartiallyObservablePendulum, max_episode_steps=200)
gymnasium.register("erlbench/Latency-v0", Latency, max_episode_steps=1000)
