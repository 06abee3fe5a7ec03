"""Which individuals are trained by gradients, and the exchange between a search and a learner."""
