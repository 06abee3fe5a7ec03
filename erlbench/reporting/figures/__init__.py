"""The report's figures, by matplotlib."""
