"""What `erlbench run` makes of its options: cells, and their runs."""

from erlbench.experiment.arguments import arguments
from erlbench.experiment.requested_cells import requested_cells, run_options
from erlbench.running.command import run_cells


def cells_of(**given):
    return requested_cells(arguments(given))


def run(**given):
    """The exit code; all tasks run in this process."""
    asked = arguments({"processes": 0, "quiet": True, **given})
    return run_cells(requested_cells(asked), run_options(asked, ("erlbench", "run")))
