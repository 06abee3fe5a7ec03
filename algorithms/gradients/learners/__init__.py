"""The learners, each beside its paper's equations: TD3, DDPG, SAC, and the separate updates of CEM-RL and its kin."""
