"""One file to send: the runs of a study as a zip file that is read as a folder, with its command lines redacted."""
