"""What a run's files hold: their names, their rows and columns, how they are written and read. Runs nothing."""
