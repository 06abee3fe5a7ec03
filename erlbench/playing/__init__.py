"""Watching a policy: episodes of a finished run in a window or as a film."""

from erlbench.playing.player import Episode, play_run

__all__ = ["Episode", "play_run"]
