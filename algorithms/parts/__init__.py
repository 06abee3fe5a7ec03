"""What of single algorithms does not fit into their file: settings, states, networks."""
