"""What had other names in files that older versions of this suite wrote; all readers of run directories ask here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Columns of episodes.csv and tasks.csv: the old name, and the name it has now.
COLUMNS: Mapping[str, str] = MappingProxyType({"worker": "individual"})
