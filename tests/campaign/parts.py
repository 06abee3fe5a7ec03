"""The parts of the campaign, with the promise that each attacks."""

from __future__ import annotations

from tests.campaign import damage, kills, memory, power, surroundings, words
from tests.campaign.trials import Part

PARTS = {
    part.name: part
    for part in (
        Part("commands", "a wrong command gets one message", words.command, 1000),
        Part("toml", "a wrong file gets one message", words.toml, 1000),
        Part("environments", "an environment that misbehaves is named", surroundings.environment, 40),
        Part("limits", "a limit of the shell is named, and the run goes on without it", surroundings.limits, 20),
        Part("disk", "a full disk is named, and the run goes on once there is room", surroundings.disk, 10),
        Part("power", "a loss of power costs what came after the last checkpoint", power.trial, 40),
        Part("memory", "memory and open files stay as they are", memory.trial, 1),
        Part("folders", "damage to a run's folder is named and no row is computed over", damage.trial, 1000),
        Part("kills", "no kill of any process changes a row", kills.trial, 200),
    )
}
