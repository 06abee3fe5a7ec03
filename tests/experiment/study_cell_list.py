"""The cells of the suite's studies of tables and figures, which `python -m tests.experiment.study_cell_list` writes.

A line of study_cells.txt.gz has the study, the profile, the folder without its seed, a digest of all that config.toml
holds but the seed, the processes that the study pins, `one-core` where no second core is used, and the seeds.
"""

import gzip
import hashlib
import json
from pathlib import Path

from erlbench.experiment.studies import load_studies
from tests.experiment.requested import cells_of

FILE = Path(__file__).with_name("study_cells.txt.gz")


def cell_lines(study, profile):
    """The lines of one profile of a study, in the order of its cells."""
    seeds = {}
    for cell in cells_of(study=study, profile=profile):
        config = cell.config()
        assert config["run"].pop("seed") == cell.seed
        assert cell.directory.name == f"seed-{cell.seed:03d}"
        digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]
        cores = "one-core" if cell.one_core else "all-cores"
        seeds.setdefault(f"{cell.directory.parent} {digest} {cell.processes} {cores}", []).append(cell.seed)
    return [f"{study} {profile} {text} {','.join(map(str, listed))}" for text, listed in seeds.items()]


def table_studies():
    """The suite's studies without those of sentences."""
    return {name: study for name, study in load_studies().items() if not study.claim}


def stored_lines():
    """All lines as they were written."""
    return gzip.decompress(FILE.read_bytes()).decode().splitlines()


if __name__ == "__main__":
    lines = [
        line
        for name, study in table_studies().items()
        for profile in study.profiles
        for line in cell_lines(name, profile)
    ]
    FILE.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
