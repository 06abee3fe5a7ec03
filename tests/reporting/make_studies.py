"""Small studies in the form that benchmarks.toml is loaded into."""

from erlbench.experiment.study import Entry, Profile, Study

ENVS = {"HalfCheetah-v5": "HalfCheetah-v2", "Walker2d-v5": "Walker2d-v2"}


def make_study(kind="scores", table="Table 3", **more):
    """CEM-RL (baseline) against AES-RL on two environments, with SAC published but not run."""
    time = kind == "time"
    entries = (
        Entry("cem-rl", "cem-rl", published="CEM-RL serial sync W=1" if time else "CEM-RL", label="CEM-RL"),
        Entry(
            "aes-rl", "aes-rl", workers=5, published="AES-RL parallel async W=5" if time else "AES-RL", label="AES-RL"
        ),
    )
    values = {
        "name": "study", "title": "A study", "kind": kind, "published_source": "AES-RL paper", "table": table,
        "entries": entries, "baseline": "cem-rl", "not_run": () if time else ("SAC",), "envs_published": ENVS,
        "profiles": {
            "short": Profile((0, 1, 2), 2000, tuple(ENVS)), "paper": Profile(tuple(range(10)), 1_000_000, tuple(ENVS)),
        },
    }  # fmt: skip
    return Study(**(values | more))
