"""The report: reads run directories, writes tables and figures; imports nothing of the run side."""
