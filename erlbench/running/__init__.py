"""The run side: a cell from its directory and first task to its last row."""
