"""The lock file: every package of `make install` but PyTorch in one version, with hashes; first what users need."""

import configparser
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYTORCH = re.compile(r"torch$|triton$|nvidia-|cuda-")
PYTHONS = "3.11.0", "3.12.0", "3.13.0"
TEXT = (ROOT / "requirements.txt").read_text()
PARTS = {"all": TEXT, "used": TEXT.partition("# Extras")[0]}  # `make demo` installs the second


def entries(part):
    """By name: each entry of the lock file, with the number of its hashes."""
    found = {}
    text = re.sub(r"^ *#.*\n", "", PARTS[part], flags=re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        requirement, *hashes = line.split("--hash=sha256:")
        assert all(re.fullmatch(r"[0-9a-f]{64}", one.strip()) for one in hashes)
        parsed = Requirement(requirement.strip())
        found.setdefault(canonicalize_name(parsed.name), []).append((parsed, len(hashes)))
    return found


def asked(part):
    """What the package asks for, in all with its extra `dev`."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    texts = setup["options"]["install_requires"] + (setup["options.extras_require"]["dev"] if part == "all" else "")
    return [Requirement(line) for line in texts.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("part", PARTS)
def test_the_lock_file_has_what_setup_cfg_asks_for(part):
    """Else `make lock` was forgotten. Each Python and machine gets one version of a package."""
    found = entries(part)
    for python in PYTHONS:
        for machine in ("x86_64", "aarch64"):
            version = {"python_version": python.rpartition(".")[0], "python_full_version": python}
            here = {**version, "platform_machine": machine}
            for requirement in asked(part):
                name = canonicalize_name(requirement.name)
                if PYTORCH.match(name) or (requirement.marker and not requirement.marker.evaluate(here)):
                    continue
                chosen = [one for one, _ in found.get(name, []) if not one.marker or one.marker.evaluate(here)]
                assert len(chosen) == 1, (name, here)
                assert all(hashes for _, hashes in found[name]), name
                version = str(chosen[0].specifier).removeprefix("==")
                assert requirement.specifier.contains(version, prereleases=True), (requirement, version)
