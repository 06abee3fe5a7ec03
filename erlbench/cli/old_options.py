"""Options of earlier versions, and what does their work now."""

from __future__ import annotations

from collections.abc import Mapping

KEYS = (
    "evaluate", "info", "final-episodes", "total-generations", "total-minutes", "task-timeout", "worker-memory",
    "checkpoint-every", "keep-checkpoints", "simulated-critic",
)  # fmt: skip
ANYWAY = ("force-kernel", "force-identity", "no-admission", "allow-unrepeatable")
STYLE_KEYS = ("smooth", "band", "statistic")

OLD_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "run": {
        "--seed": "--seeds 7, is the seed 7 alone",
        "--preset": "--algo takes ALGO@PRESET",
        "--studies": "studies.toml in this folder is read",
        "--launcher": "--slurm KEY=VALUE runs each cell as a job of Slurm, --pool ray on a Ray cluster",
        **{f"--slurm-{key}": f"give --slurm {key}=VALUE" for key in ("partition", "time", "cpus", "mem")},
        "--slurm-set": "give --slurm KEY=VALUE",
        "--shard": "give --seeds 0-4 here and --seeds 5-9 on the other machine",
        "--same": "--set KEY=VALUE goes to all algorithms that have the setting",
        "--costs": "give a table [costs] in the file of --config",
        "--simulated-processes": "give --simulated-time N",
        **{f"--{key}": f"give {key.replace('-', '_')} = VALUE in the file of --config" for key in KEYS},
        **{f"--{key}": "--anyway runs what is refused, and marks the run" for key in ANYWAY},
        **dict.fromkeys(("--claim", "--plan"), "give --study NAME (docs/studies.md)"),
        "--only-seeds": "give --seeds N",
    },
    "report": {
        "--studies": "studies.toml in this folder and study.toml in the results are read",
        "--profile": "the folder's name says it",
        "--bundle": "erlbench convert DIR --to bundle --out FILE.zip writes one",
        **dict.fromkeys(("--table", "--grid"), "--paper writes the table and the figure"),
        "--style": "give --paper STYLE.toml",
        **{f"--{key}": f"give {key} = VALUE in the file of --paper STYLE.toml" for key in STYLE_KEYS},
        **dict.fromkeys(("--family", "--holm"), "Holm's correction takes all tests of a table"),
        "--failed": "failed runs count by their last evaluation",
        "--early": "a study has no looks",
        "--claims": "a study with a claim is answered",
    },
    "verify": {
        "--from": "--again runs the run from its beginning",
        "--processes": "one process plays the policies",
        "--seconds": "the time is limited by what the run recorded",
    },
    "show": dict.fromkeys(("--follow", "-f"), "`watch erlbench show DIR` shows it again and again"),
    "play": {"--angle": "there is nothing in its place"},
}
