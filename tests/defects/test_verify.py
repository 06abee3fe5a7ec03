"""Runs that lack what their version writes: verify says that they differ."""

from __future__ import annotations

import csv
import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.defects.commands import TINY, call, succeed
from tests.runs import csv_rows

LATER_COLUMNS = {"digest", "policy_sha256", "paused_s", "success", "success_ever", "info", "replayed_timesteps"}
LATER_KEYS = ("format", "starts", "config_sha256", "identity", "admission", "kernel", "arithmetic", "products")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of CEM with three evaluations, which verify finds right."""
    out = tmp_path_factory.mktemp("finished")
    succeed("run", "--algo=cem", "--env=InvertedPendulum-v5", *TINY, "--out", out)
    (folder,) = out.glob("*/*/*")
    succeed("verify", folder)
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy that a test may edit."""
    return Path(shutil.copytree(finished, tmp_path.joinpath(*finished.parts[-3:])))


def edit_object(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the object of a JSON file."""
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value, indent=2) + "\n")


def edit_rows(folder: Path, change: Callable[[dict[str, str]], object], rows: slice = slice(None)) -> None:
    """Change rows of eval.csv."""
    path = folder / "eval.csv"
    values = csv_rows(path)
    for row in values[rows]:
        change(row)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, [*values[-1]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(values)


def renew_checksums(folder: Path) -> None:
    """Write the checksums of the files as they are."""

    def renew(status: dict[str, Any]) -> None:
        contents = {name: (folder / name).read_bytes() for name in status["files"] if (folder / name).exists()}
        status["files"] = {name: f"{len(data)}:{zlib.crc32(data):08x}" for name, data in contents.items()}

    edit_object(folder / "status.json", renew)


def raise_returns(row: dict[str, str]) -> None:
    """Add 500 to the returns of an evaluation."""
    row["returns"] = " ".join(repr(float(value) + 500) for value in row["returns"].split())
    row["return_mean"] = repr(float(row["return_mean"]) + 500)


def remove_policies(folder: Path) -> None:
    """Remove all policies of a run."""
    shutil.rmtree(folder / "policies")
    (folder / "policy.safetensors").unlink()


def downgrade(folder: Path) -> None:
    """Have the run look as if an early version had written it, with higher returns."""
    remove_policies(folder)
    edit_rows(folder, raise_returns)
    edit_rows(folder, lambda row: [row.pop(name, None) for name in LATER_COLUMNS])
    for name in ("tasks.csv", "episodes.csv"):
        (folder / name).unlink()
    edit_object(folder / "meta.json", lambda meta: [meta.pop(name, None) for name in LATER_KEYS])
    edit_object(folder / "status.json", lambda status: status.update(return_mean=status["return_mean"] + 500))
    edit_object(folder / "status.json", lambda status: [status.pop(name, None) for name in ("files", "paused_s")])


def remove_checksums(folder: Path) -> None:
    """Remove the checksums alone."""
    edit_object(folder / "status.json", lambda status: status.pop("files"))


def remove_digests(folder: Path) -> None:
    """Empty the digests of the states, and renew the checksums."""
    edit_rows(folder, lambda row: row.update(digest=""))
    renew_checksums(folder)


def downgrade_the_final_policy(folder: Path) -> None:
    """Remove the policies, their hashes and the checksum of the final one; raise the final returns."""
    remove_policies(folder)
    edit_rows(folder, raise_returns, slice(-1, None))
    edit_rows(folder, lambda row: row.update(policy_sha256=""))
    edit_object(folder / "status.json", lambda status: status.update(return_mean=status["return_mean"] + 500))
    edit_object(folder / "status.json", lambda status: status["files"].pop("policy.safetensors"))


@pytest.mark.parametrize("edit", [downgrade, remove_checksums, remove_digests])
def test_a_run_without_what_its_version_writes_differs(folder, edit):
    edit(folder)
    assert call("verify", folder).exit_code == 1


def test_a_run_without_its_policies_differs(folder):
    downgrade_the_final_policy(folder)
    renew_checksums(folder)
    assert call("verify", folder).exit_code == 1
