"""What travels between a driver and its workers, and what workers do with it."""
