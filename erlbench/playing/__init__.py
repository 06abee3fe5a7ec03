"""Watching a policy: episodes of a finished run in a window or as a film."""

from erlbench.playing.player import PlayedEpisode, play_run

__all__ = ["PlayedEpisode", "play_run"]
