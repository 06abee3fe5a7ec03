"""The written plans of version 0.3 as studies, as `python -m tests.plan_to_study` writes them beside the plans.

A plan drew its seeds from the SHA-256 of its values. Its looks, level and pilots' seeds are comments of the study.
"""

from __future__ import annotations

import hashlib
import itertools
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from erlbench.algorithms import registry
from erlbench.experiment.study import entry_name, study_text
from erlbench.records.older import DEFAULT_PRESET, of_today
from erlbench.settings import resolve, toml_values

RESULTS = Path(__file__).parents[1] / "results"
HASHES = {  # of the plans' values, as the starts of their runs have them in `study_plan`
    "asynchrony": "971b3c819d74ca7b989485f7e57048c4db31c605aeaf1afea3dfe87008c83306",
    "cma-lander": "96d4de10b456b43759efecc6cb64d2224bad3d2bc7b0aae786117d27b3c6bcc5",
    "cma-lander-2": "1b4ffc80d185bbc84da45d79749c91d5351cfb95fa9ad2655dfd6c4028c4c4b7",
    "frame-skip": "6ceb0d4c3f39117e78f7067aec3c5b07ed6623d16cb1103e8dda763a325b2099",
    "gaits": "1a63cc375f39e62dfd5e8392cb08da942ee5604bc6a686d1d8b80b88fbd814c8",
    "long-horizons": "6ab68f746339c4540f9baf826f31d9e7cd11fc9cbfa2e038d4bef11517ccf8da",
    "long-horizons-2": "31b8a7969679b3e05382bfa3978246c04315ea8663166273544f61ccbb6a6667",
    "mdp-sensitivity": "efd7f22a5cc153cb235aae9c8c43b2d167ad89edd799b10f226d46ddd47045e2",
    "no-backpropagation": "d36b6c64b7c392fd7f5daeeba674731b8bc2c7888d5adecce3f9fb64d93f8cfd",
    "swimmer-gradient": "e88eefcbfba4116f8c00ca95a35c578ed4b7cef579ec6f9e9795cfb5a1838c97",
    "swimmer-gradient-2": "f0d594f775c4b125c0ef4a53eeb3811759b3f9205e32cea3c39fc034d588cf0b",
}
EVALUATION = {"eval_episodes": 10, "final_episodes": 50, "evaluate": "after"}  # defaults, which a study leaves out


def read_plan(folder: Path) -> dict[str, Any]:
    """The values of a folder's plan.toml, with the settings under the names of today."""
    plan = tomllib.loads((folder / "plan.toml").read_text(encoding="utf-8"))
    for cell in plan["cells"]:
        algo, _, preset = cell["algo"].partition("@")
        today = of_today({"run": {"algo": algo, "preset": preset}, "settings": cell["settings"]})
        cell["algo"], cell["settings"] = f"{algo}@{today['run']['preset']}", today["settings"]
    return plan


def assigned_seeds(plan: Mapping[str, Any], digest: str) -> list[int]:
    """The seeds of a plan: SHA-256 of the hash and an index, below 10^9, from 1000 on, each once, none of a pilot's."""
    draws = (int(hashlib.sha256(f"{digest}{index}".encode()).hexdigest(), 16) % 10**9 for index in itertools.count())
    seeds: dict[int, None] = {}
    while len(seeds) < plan["seeds"]:
        if (seed := next(draws)) >= 1000 and seed not in plan.get("pilot_seeds", []):
            seeds.setdefault(seed)
    return list(seeds)


def study_table(plan: Mapping[str, Any], digest: str) -> dict[str, Any]:
    """The table of the study that a plan is."""
    cells = {cell["label"]: cell for cell in plan["cells"]}
    envs = list(dict.fromkeys(cell["env"] for cell in plan["cells"]))
    names: dict[str, list[Mapping[str, Any]]] = {}
    for cell in plan["cells"]:
        names.setdefault(cell["name"], []).append(cell)
    minutes = {cell.get("total_minutes") for cell in plan["cells"]}
    assert len(minutes) == 1
    simulated = {key: plan[key] for key in ("simulated_time", "costs") if key in plan}
    evaluation = {key: value for key, value in plan["evaluation"].items() if value != EVALUATION.get(key)}
    return {
        "title": plan["title"],
        "entries": [entry_table(name, same, envs) for name, same in names.items()],
        "compare": [pair_table(contrast, cells, envs) for contrast in plan["contrasts"]],
        "seeds": assigned_seeds(plan, digest),
        "envs": envs,
        **({"total_minutes": minutes.pop()} if minutes != {None} else {}),
        **evaluation,
        **simulated,
    }


def entry_table(name: str, cells: Sequence[Mapping[str, Any]], envs: Sequence[str]) -> dict[str, Any]:
    """The entry of the cells with one name, which differ in their environments, and in settings by these."""
    first = cells[0]
    for key in ("algo", "workers", "total_timesteps", "env_settings"):
        assert len({str(cell.get(key)) for cell in cells}) == 1
    algo, _, preset = first["algo"].partition("@")
    settings = changed_settings(first)
    assert all(changed_settings(cell) == settings for cell in cells)
    default, label = entry_name(algo, preset), first["label"]
    where = [cell["env"] for cell in cells]
    return {
        "algo": algo if preset == DEFAULT_PRESET else first["algo"],
        **({"name": name} if name != default else {}),
        **({"label": label} if label not in (name, f"{name} on {first['env']}") else {}),
        **({"envs": where} if where != list(envs) else {}),
        **({"workers": first["workers"]} if first["workers"] else {}),
        **({"total_timesteps": first["total_timesteps"]} if "total_timesteps" in first else {}),
        **({"settings": settings} if settings else {}),
        **({"env_settings": first["env_settings"]} if first.get("env_settings") else {}),
    }


def changed_settings(cell: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a cell that its preset does not give on its environment."""
    algo, _, preset = cell["algo"].partition("@")
    listed = registry.find(algo).settings_type
    usual = toml_values(resolve(listed, cell["env"], registry.preset(algo, preset), {}, owner=algo))
    assert usual.keys() >= cell["settings"].keys()  # others came after the plan
    return {key: value for key, value in cell["settings"].items() if value != usual[key]}


def pair_table(
    contrast: Mapping[str, Any], cells: Mapping[str, Mapping[str, Any]], envs: Sequence[str]
) -> dict[str, Any]:
    """The pair of a contrast."""
    first, second = cells[contrast["a"]], cells[contrast["b"]]
    assert first["env"] == second["env"]
    begin, end = contrast["stretch"]
    return {
        "first": first["name"],
        "second": second["name"],
        **({"envs": [first["env"]]} if len(envs) > 1 else {}),
        "metric": "curve",
        "from": int(begin) if begin == int(begin) else begin,
        "to": int(end) if end == int(end) else end,
        **({"axis": "minutes"} if contrast["axis"] == "minutes" else {}),
    }


def study_file(folder: Path) -> str:
    """The text of a folder's study.toml."""
    plan, digest = read_plan(folder), HASHES[folder.name]
    test = plan["test"]
    looks = " and ".join(map(str, test["looks"]))
    pilots = ", ".join(map(str, plan.get("pilot_seeds", []))) or "none"
    rule = f"{test['correction']}, {test['spending']}"
    paragraphs = [
        f"The plan beside this file, written on {plan['written']}, as a study (SHA-256 of its values: {digest}). "
        f"It also has looks after {looks} seeds, a level of {test['level']:g} over all pairs and looks ({rule}), "
        f"and the seeds that were seen before: {pilots}.",
        " ".join(plan["why"].split()),
    ]
    lines = [line for text in paragraphs for line in (*textwrap.wrap(text, 116, break_on_hyphens=False), "")]
    comment = "".join(f"# {line}".rstrip() + "\n" for line in lines[:-1])
    return f"{comment}\n{study_text(folder.name, study_table(plan, digest))}"


if __name__ == "__main__":
    for path in sorted(RESULTS.rglob("plan.toml")):
        (path.parent / "study.toml").write_text(study_file(path.parent), encoding="utf-8")
