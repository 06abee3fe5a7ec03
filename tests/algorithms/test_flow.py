"""What algorithms ask for, whatever kernels compute: every task of short runs, counters, columns, reported policies.

`python -m tests.algorithms.test_flow` writes `flow.json`; with the name of a cell it prints the tasks. Tasks end in a
fixed order with made-up returns (`fake.py`). A cell is an algorithm, perhaps @PRESET, and settings; what stands
behind a bar is in the message that refuses it.
"""

import dataclasses
import hashlib
import itertools
import json
import math
import re
import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.settings import resolve
from erlbench.work.tasks import dependencies
from tests.algorithms.fake import Fake
from tests.first_values import direction

FILE = Path(__file__).with_name("flow.json")
TASKS = 90
SMALL = {
    "hidden": "4", "critic_hidden": "4", "population": 4, "n_grad": 2, "elites": 2, "batch_size": 4,
    "start_timesteps": 30, "critic_block": 7, "actors": 3, "memory": 40,
}  # fmt: skip
CELLS = """
multi-actor-td3 updates_per_step=0.5
multi-actor-td3 updates_per_step=0.001
cem
cem extra_ke_division=false antithetic=false
cem start_states=generation episodes=3
cem start_states=fixed episodes=2
cem-rl
cem-rl recombination=equal
cem-rl recombination=ranks
cem-rl random_warmup=true
cem-rl start_timesteps=35 warmup_gate=more-than
cem-rl start_timesteps=35 warmup_gate=at-least
cem-rl@aes-rl-code batch_size=4 start_timesteps=30
cem-rl n_grad=0
cem-rl n_grad=3 search=pgpe
cem-rl learner=sac
cem-rl learner=ddpg
cem-rl learner=crossq
cem-rl injected=hansen
cem-rl injected=mean-only
cem-rl injected=mean-only n_grad=4
cem-rl search=aes options='baseline=100 window=4' injected=hansen
cem-rl search=aes options='baseline=100 window=4' injected=mean-only
cem-rl search=snes injected=hansen
cem-rl search=openai-es injected=hansen
cem-rl search=pgpe injected=hansen
cem-rl search=ars injected=hansen options='directions=2 top=2'
cem-rl search=pgpe coupling=none options='population_max=8 generation_steps=60'
cem-rl search=aes options='baseline=100 window=4'
cem-rl search=openai-es
cem-rl search=ars options='directions=2 top=1' schedule=phases
cem-rl search=erl-ga
cem-rl coupling=side options='soft_update=0.25 sync_period=2 validation_every=3'
cem-rl search=snes coupling=side schedule=steady-state
cem-rl search=ga schedule=steady-state options='parents=2'
cem-rl search=snes schedule=steady-state
cem-rl coupling=winners options='winner_fraction=0.25 sac_members=1 gradient_interval=2 validation_every=2'
cem-rl search=none
p-cem-rl
p-cem-rl barriers=true
p-cem-rl@code start_timesteps=35 batch_size=4
p-cem-rl@parallel-critic
aes-rl
aes-rl@code total=150
aes-rl@fixed-ratio
aes-rl critic_updates_per_step=0.5 workers=4
aes-rl warmup=own-policies episodes=2 start_states=generation mean_episodes=3
aes-rl mean_update=oldest variance_update=rank-based window=3 elites=1
aes-rl mean_update=oldest variance_update=rank-based window=3 elites=1 always_measure=true
aes-rl mean_update=oldest variance_update=rank-based window=3 elites=1 injected=mean-only
aes-rl mean_update=full-move variance_update=success-rule window=2 elites=1 p_desired=1
aes-rl mean_update=full-move variance_update=success-rule-frozen window=2 elites=1
aes-rl mean_update=fixed-range-linear variance_update=online-fixed
aes-rl mean_update=fixed-range-sigmoid
aes-rl mean_update=baseline-absolute
aes-rl mean_update=baseline-absolute absolute_baseline=none baseline=100
erl
erl crossover_probability=1
pderl
pderl pair_fitness=elite-fitness sync_period=1 memory=25
evorainbow-exp
esac population=10 gradient_interval=2
esac population=10 gradient_interval=2 sampling=pairs optimizer=sgd
esac population=10 gradient_interval=2 sampling=independent amt_rewards=rank amt_every=3 amt_clip=1
esac@code population=10 hidden=4 critic_hidden=4
esac@v1 hidden=4 critic_hidden=4
esac population=10 gradient_interval=2 p_clock=budget validation_every=2
snes
ga parents=2
ars directions=2 top=1 reward_shift=0.5
pgpe reward_shift=0.5
pgpe population_max=8 generation_steps=60
openai-es
openai-es timesteps_per_batch=60 time_limit=adaptive:9,0.5,1.5 time_limit_max=20 mean_share=0.5
openai-es stale=discard population=2 workers=6
openai-es stale=discard workers=8
openai-es noise_table=1000 start_states=pair episodes=2
openai-es@code noise_table=1000 population=4 timesteps_per_batch=50
openai-es optimizer=sgd shaping=raw scaling=paper
cma-es
cma-es episodes=3 start_states=generation
""".strip().splitlines()

REFUSED = """
cem population=4 elites=5 | elites (5) cannot exceed population (4)
ga population=8 | parents (10) cannot exceed population (8)
cem-rl n_grad=11 population=10 | n_grad (11) cannot exceed population (10)
erl population=1 | at least 2
cem-rl search=snse | did you mean 'snes'
cem-rl learner=td4 | did you mean 'td3'
cem-rl learner=ppo | td3, ddpg, sac, crossq
cem-rl learner=sac hidden= | learner=sac
p-cem-rl stochastic=true | learner=sac or crossq, not td3
p-cem-rl warmup_gate=individual | 'individual' is cem-rl's
cem-rl options=directions | must be NAME=VALUE
cem-rl options=top=3 | unknown option 'top'
cem-rl search=ars options=normalise_observations=true | unknown option 'normalise_observations'
cem-rl options=population=3 | --set population=VALUE instead
cem-rl search=none population=1 n_grad=1 elites=1 | at least 2
cem-rl search=none coupling=side population=1 n_grad=0 elites=1 | at least 2
cem-rl search=ars options='directions=1 top=1' n_grad=3 | n_grad (3) cannot exceed population
cem-rl search=snes options='stdev_learning_rate=-1' | must be at least 0
cem-rl search=pgpe n_grad=1 | n_grad
cem-rl coupling=side schedule=phases options=parallel_critic=true | for parallel_critic
cem-rl coupling=winners schedule=phases options=parallel_critic=true | for parallel_critic
cem-rl coupling=winners schedule=steady-state options=critic_updates_per_step=1 | for critic_updates_per_step
evorainbow-exp search=ga | parents (10) cannot exceed population (4); a part has its own settings by --set options=
aes-rl stochastic=true | learner=sac or crossq, not td3
aes-rl mean_update=oldest | use 'rank-based'
esac population=10 sac_members=4 winner_fraction=0.6 | 6 winners and 4 copies
pgpe stdev_max_change=1 | at most 0.99
pderl mutation_strength=1 | unknown setting 'mutation_strength'
openai-es population=3 | population must be even
pgpe population=3 | population must be even
ars directions=2 top=3 | top (3) cannot exceed directions (2)
sac hidden= | hidden needs at least one layer
crossq hidden= | hidden needs at least one layer
erl super_mutation_probability=0.6 reset_probability=0.5 | cannot exceed 1 together
aes-rl mean_update=oldest variance_update=rank-based window=3 elites=4 | elites (4) cannot exceed window (3)
cem-rl population=1 n_grad=1 elites=1 | at least 2
cem-rl coupling=side population=1 n_grad=0 elites=1 | at least 2
openai-es time_limit=adaptive:10,2,1.5 | 'adaptive:10,2,1.5'
openai-es noise_table=2 | noise_table
cma-es covariance=vd hidden= | covariance=full
""".strip().splitlines()


def start(cell, folder):
    """The algorithm of a cell, with an executor."""
    name, *changes = shlex.split(cell)
    algo, _, preset = name.partition("@")
    kind, given = registry.find(algo), dict(change.split("=", 1) for change in changes)
    workers, total = int(given.pop("workers", 3)), int(given.pop("total", 500))
    given = {key: value for key, value in SMALL.items() if key in kind.settings_type.__dataclass_fields__} | given
    settings = resolve(kind.settings_type, "Fake-v0", registry.preset(algo, preset or "default"), given)
    return Fake(folder, kind, settings, workers=workers, total=total)


def plain(value):
    """Values as texts, without those that say nothing, and without the folder of a replay."""
    if dataclasses.is_dataclass(value):
        known = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name: plain(each) for name, each in known.items() if each and name != "replay"}
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def describe(task):
    """All that an algorithm says about a task; of its settings what is a number or a word."""
    inputs = {name: plain(value) for name, value in sorted(task.inputs.items())}
    given = plain(task.settings) | plain(getattr(task.settings, "update", task.settings))
    settings = {name: text for name, text in sorted(given.items()) if isinstance(text, str)}
    more = task.priority, task.counts, task.gradient, task.individual, task.after
    return f"{task.id} {task.kind} {task.function} {task.key} {[*map(int, more[:3])]} {more[3:]} {inputs} {settings}"


def flow(fake):
    """The tasks as texts, by `ask`."""
    asked, algorithm = [], fake.algorithm
    for done in range(TASKS):
        asked.append([describe(task) for task in fake.ask()] + [str(algorithm.policy())])
        ready = [task for task in fake.open.values() if not dependencies(task) & fake.open.keys()]
        if not ready:
            break
        task = ready[0 if algorithm.is_synchronous(algorithm.settings) else done * done % len(ready)]
        fitness = float(task.id * 37 % 11 // 2) if task.id % 29 else math.nan  # with ties
        fake.finish(task, fitness=fitness, length=7 + task.id % 5)
    return asked


def summary(fake):
    """What is kept of a run."""
    asked = flow(fake)
    algorithm = fake.algorithm
    return {
        "asked": " ".join(hashlib.sha256("\n".join(lines).encode()).hexdigest()[:4] for lines in asked),
        "counters": dataclasses.asdict(algorithm.counters),
        "columns": {name: float(value) for name, value in algorithm.metrics().items()},
        "policy": direction(np.asarray(fake.store.load(algorithm.policy()))),
    }


@pytest.mark.parametrize("cell", CELLS)
def test_an_algorithm_asks_for_what_it_asked_for_and_learns_the_same(cell, tmp_path):
    fake = start(cell, tmp_path)
    kept, made = json.loads(FILE.read_text())[cell], summary(fake)
    fake.close()
    assert made.pop("columns") == pytest.approx(kept.pop("columns"), rel=1e-6, abs=1e-9, nan_ok=True)
    assert made.pop("policy") == pytest.approx(kept.pop("policy"), abs=1e-5)
    assert made == kept


@pytest.mark.parametrize("line", REFUSED)
def test_settings_that_do_not_fit_are_refused(line, tmp_path):
    cell, _, words = line.partition(" | ")
    with pytest.raises(UsageError, match=re.escape(words)):
        start(cell, tmp_path)


@pytest.mark.parametrize("algo", ["snes", "cma-es", "openai-es", "cem-rl", "td3"])
def test_a_policy_that_does_not_fit_into_the_memory_is_refused(algo, tmp_path, monkeypatch):
    """It would end the command by the kernel's SIGKILL."""
    monkeypatch.setattr("erlbench.algorithms.base.available_memory", lambda: 100.0)
    with pytest.raises(UsageError, match="smaller network"):
        start(algo, tmp_path)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:]:
            print(*itertools.chain.from_iterable(flow(start(sys.argv[1], Path(folder) / "run"))), sep="\n")
        else:
            made = {cell: summary(start(cell, Path(folder) / str(number))) for number, cell in enumerate(CELLS)}
            FILE.write_text("{\n" + ",\n".join(f" {json.dumps(c)}: {json.dumps(v)}" for c, v in made.items()) + "\n}\n")
