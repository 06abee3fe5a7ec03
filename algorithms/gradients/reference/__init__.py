"""TD3, DDPG and SAC in plain PyTorch: to read, and to prove that the fast programs compute the same."""
