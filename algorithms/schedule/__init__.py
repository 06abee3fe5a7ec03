"""In which order a critic learns, actors are trained, and individuals play."""
