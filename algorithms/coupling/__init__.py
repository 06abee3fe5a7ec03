"""Who of a population is trained by gradients, and what crosses between a search and a learner."""
