"""Running an algorithm that has one task at a time, in this process."""

from __future__ import annotations


def run(algorithm, workspace):
    """Run to the end of the budget; the tasks and their results."""
    done = []
    while tasks := algorithm.ask():
        (task,) = tasks
        done.append((task, workspace.run(task)))
        algorithm.tell(*done[-1])
    return done
