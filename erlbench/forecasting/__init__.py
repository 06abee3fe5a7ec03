"""What tasks cost on a machine, and how long a run takes with these costs on any number of processors."""
