"""The suite's environments, registered in Gymnasium when this module is imported.

Elsewhere: `import erlbench.envs.own; gymnasium.make("erlbench/CyclicMDP-v0")`.
"""

import gymnasium

from erlbench.envs import functions

gymnasium.register("erlbench/CyclicMDP-v0", "erlbench.envs.cyclic_mdp:CyclicMDP", max_episode_steps=2000)
gymnasium.register(
    "erlbench/PartiallyObservablePendulum-v0",
    "erlbench.envs.partially_observable_pendulum:PartiallyObservablePendulum",
    max_episode_steps=200,
)
functions.register()
