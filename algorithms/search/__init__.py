"""The parts that searches are made of: distributions, gradients from noise, genetic operators, optimisers."""
