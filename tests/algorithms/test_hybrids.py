"""Search x learner x coupling x schedule: each combination for two generations, and whole runs of some."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from erlbench.algorithms import registry
from erlbench.algorithms.cem_rl import CEMRL, CEMRLSettings
from erlbench.algorithms.hybrid import COUPLINGS, SCHEDULES
from erlbench.algorithms.policy_settings import PolicySettings, policy_of
from erlbench.algorithms.schedule.chain import ChainSettings
from erlbench.algorithms.search.search import SEARCHES, find_search
from erlbench.algorithms.training.learners import LEARNERS
from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from erlbench.policy import NumpyPolicy, initial_policy, load_policy, serialise_policy
from erlbench.settings import resolve
from erlbench.testing import check_algorithm
from erlbench.work.values import decode, encode
from tests.runs import all_rows, check_counts, interrupt, make_cell, replayed, returns, rows, run

SMALL = {"population": 4, "elites": 2, "n_grad": 2, "hidden": (4,), "batch_size": 4, "start_timesteps": 30}
OPTIONS = {"ars": "directions=2 top=1", "ga": "parents=2", "aes": "baseline=100 window=4"}
MATRIX = list(itertools.product(SEARCHES, LEARNERS, COUPLINGS, SCHEDULES))
REFUSED = {(search, "steady-state") for search in SEARCHES if find_search(search).pairs}


def settings_of(search, learner="td3", coupling="half", schedule="chain", **more):
    options = OPTIONS.get(search, "") + (" gradient_interval=1" if coupling == "winners" else "")
    given = SMALL | {"options": options} | more
    return CEMRLSettings(search=search, learner=learner, coupling=coupling, schedule=schedule, **given)


def finish_all(fake, generations):
    """Play until so many updates of the search; how many actors were trained."""
    while fake.algorithm.counters.generation < generations:
        fake.ask()
        task = fake.open[min(fake.open)]
        fake.finish(task, fitness=float(task.id % 7))
    return fake.algorithm.counters.actor_updates


@pytest.mark.parametrize("choices", MATRIX, ids=" ".join)
def test_all_combinations_run_train_and_go_on_from_a_checkpoint(choices, new_fake):
    search, _, coupling, schedule = choices
    if (search, schedule) in REFUSED:
        with pytest.raises(UsageError, match="mirrored pairs around one mean"):
            new_fake(CEMRL, settings_of(*choices))
        return
    fake, twin = (new_fake(CEMRL, settings_of(*choices), workers=2) for _ in range(2))
    rounds = 9 if (search, schedule) == ("aes", "steady-state") else 3  # AES-RL's rules learn from each individual
    trained, _ = (finish_all(each, rounds) for each in (fake, twin))
    assert (trained > 0) == (coupling != "none")
    assert fake.algorithm.is_synchronous(fake.algorithm.settings) == (schedule != "steady-state")
    mean = fake.store.get(fake.algorithm.policy())
    assert np.isfinite(mean).all()
    arrays = {}
    twin.algorithm.restore(decode(encode(twin.algorithm.snapshot(), arrays), arrays))
    assert twin.algorithm.coupling.state is twin.algorithm.state.coupling
    for each in (fake, twin):
        finish_all(each, rounds + 2)
    after, of_twin = (each.store.get(each.algorithm.policy()) for each in (fake, twin))
    np.testing.assert_array_equal(after, of_twin)
    assert search in ("ga", "erl-ga") or not np.array_equal(after, mean)
    assert fake.algorithm.metrics().keys() == twin.algorithm.metrics().keys()


@pytest.mark.parametrize("search", ["cem", "snes", "pgpe"])
def test_a_search_is_told_who_was_trained(search, new_fake, monkeypatch):
    fake, told = new_fake(CEMRL, settings_of(search)), []
    finish_all(fake, 1)
    kind = type(fake.algorithm.search)
    tell = kind.tell
    monkeypatch.setattr(kind, "tell", lambda self, individuals: (told.extend(individuals), tell(self, individuals)))
    finish_all(fake, 2)
    assert [each.injected for each in told] == [True, True, False, False]
    for each in told:
        origin, z = (np.asarray(fake.store.load(value)) for value in (each.origin, each.z))
        np.testing.assert_allclose(z, origin + each.injected, rtol=1e-6)


def test_the_steady_state_says_who_was_trained_too(new_fake):
    fake, told = new_fake(CEMRL, settings_of("snes", schedule="steady-state"), workers=2), []
    tell = fake.algorithm.search.tell
    fake.algorithm.search.tell = lambda individuals: (told.extend(individuals), tell(individuals))
    finish_all(fake, 4)
    moved = [not np.allclose(*(np.asarray(fake.store.load(value)) for value in (each.origin, each.z))) for each in told]
    assert [each.injected for each in told] == moved
    assert 0 < sum(moved) < len(moved)


def test_a_generation_of_pgpe_is_extended_by_other_individuals(new_fake):
    options = "population_max=8 generation_steps=60"
    fake = new_fake(CEMRL, settings_of("pgpe", coupling="none", options=options))
    first = fake.ask()
    for task in first:
        fake.finish(task)  # 40 steps
    second = fake.ask()
    keys = {(*task.inputs["parameters"].key, task.inputs["parameters"].sign) for task in (*first, *second)}
    assert (len(first), len(second), len(keys)) == (4, 4, 8)
    assert [task.individual for task in second] == [4, 5, 6, 7]
    for task in second:
        fake.finish(task)
    assert fake.algorithm.counters.generation == 1


def test_mirrored_searches_train_whole_pairs(new_fake):
    fake = new_fake(CEMRL, settings_of("pgpe", n_grad=3))
    finish_all(fake, 2)
    assert fake.algorithm.state.schedule.trained == [0, 1]


def test_a_learner_at_the_side_replaces_the_worst_and_moves_to_the_best(new_fake):
    options = "soft_update=0.25 sync_period=2 validation_every=3"
    fake = new_fake(CEMRL, settings_of("cem", coupling="side", options=options))
    state, told = fake.algorithm.state.coupling, []
    tell = fake.algorithm.search.tell
    fake.algorithm.search.tell = lambda individuals: (told.extend(individuals), tell(individuals))
    for generation in range(4):
        before, tasks = fake.store.get(state.actor), fake.ask()
        *updates, noisy = (task for task in tasks if task.kind in ("critic", "rl"))
        validated = [task for task in tasks if task.kind == "validation"]
        assert len(validated) == (2, 0, 0, 3)[generation]
        for number, task in enumerate(validated[2:], 2):  # the champion, which was the third of the last generation
            assert (task.individual, task.inputs["parameters"]) == (number, told[-2].z)
        assert [(task.kind, task.settings.updates) for task in updates] == [("critic", 50)] * (generation > 0)
        assert (noisy.kind, noisy.settings.record, noisy.settings.action_noise) == ("rl", True, 0.1)
        members = [task for task in tasks if task.kind == "es"]
        copied = generation == 2  # after two generations
        for task in (noisy, members[1]) if copied else (noisy,):
            assert not updates or task.inputs["parameters"] == updates[0].output("actor")
        best = fake.input(members[2], "parameters")
        for task in tasks:
            fake.finish(task, fitness={1: -1.0, 2: 9.0, 4: 5.0}.get(task.individual, 3.0))
        trained = before + len(updates)  # the stand-in adds 1 for each training
        actor, target = fake.store.get(state.learner)[: 2 * before.size].reshape(2, -1)
        np.testing.assert_allclose(actor, 0.75 * trained + 0.25 * best, rtol=1e-5)
        np.testing.assert_array_equal(actor, target)
        np.testing.assert_array_equal(actor, fake.store.get(state.actor))
        assert [each.injected for each in told[-4:]] == [False, copied, False, False]
        assert [each.origin is None for each in told[-4:]] == [False, copied, False, False]
        columns = {"learner_rank": 4 if copied else 0, "learner_return": 5.0, "fitness_best": 9.0}
        columns["fitness_mean"] = (3.0 - 1.0 + 9.0 + 3.0) / 4
        assert fake.algorithm.metrics().items() >= columns.items()
    assert fake.algorithm.counters.critic_updates == 3 * 50


def test_a_learner_at_the_side_joins_the_steady_state(new_fake):
    fake = new_fake(CEMRL, settings_of("snes", coupling="side", schedule="steady-state"), workers=2)
    copies, coupling = 0, fake.algorithm.coupling
    for _ in range(60):
        actor = coupling.state.actor
        tasks = fake.ask()
        copies += sum(task.kind == "es" and task.inputs["parameters"] == actor for task in tasks)
        fake.finish(fake.open[min(fake.open)])
    assert copies == fake.algorithm.state.schedule.launched // 4 - 1  # not in the warm-up
    assert fake.algorithm.counters.actor_updates == fake.algorithm.counters.critic_updates > 0


def test_offspring_of_winners_and_copies_of_the_learner_join_a_search(new_fake):
    options = "winner_fraction=0.25 sac_members=1 gradient_interval=2 validation_every=2"
    fake = new_fake(CEMRL, settings_of("cem", coupling="winners", options=options))
    state, told = fake.algorithm.state.coupling, []
    tell = fake.algorithm.search.tell
    fake.algorithm.search.tell = lambda individuals: (told.extend(individuals), tell(individuals))
    for generation in range(4):
        tasks, (mean, actor) = fake.ask(), (fake.algorithm.search.mean_ref, state.actor)
        kinds = ["es"] * 4 + ["validation"] * ((2, 0, 3, 0)[generation])
        assert [task.kind for task in tasks] == [*(["rl"] if generation % 2 == 0 else []), *kinds]
        members = [task.inputs["parameters"] for task in tasks if task.kind == "es"]
        assert [z.centre for z in members] == [*(state.children or [mean]), mean, mean, actor]
        assert not any(task.settings.record for task in tasks if task.kind == "es")
        for task in tasks:
            score = 5.0 if task.kind == "validation" and task.individual == 1 else float(task.individual == 2)
            fake.finish(task, fitness=score)
        assert [each.injected for each in told[-4:]] == [generation > 0, False, False, True]
        new, winner, child = (
            fake.store.load(vector) for vector in (fake.algorithm.search.mean_ref, members[2], state.children[0])
        )
        assert ((child == new) | (child == winner)).all()
        assert fake.algorithm.policy() == state.actor  # it was the better one
    columns = {"learner_intervals": 2, "score_learner": 5.0, "reports_learner": 1}
    assert fake.algorithm.metrics().items() >= columns.items()


def test_aes_in_generations_measures_its_mean(new_fake):
    fake = new_fake(CEMRL, settings_of("aes"))
    tasks = fake.ask()
    assert [task.kind for task in tasks] == ["es"] * 4 + ["mean"]
    for task in tasks[:-1]:
        fake.finish(task, fitness=50.0)
    assert fake.algorithm.counters.generation == 0
    fake.finish(tasks[-1], fitness=0.0)
    assert fake.algorithm.counters.generation == 1


def test_a_population_in_the_steady_state_is_told_at_once(new_fake):
    fake = new_fake(CEMRL, settings_of("snes", schedule="steady-state"), workers=3)
    counts = []
    for _ in range(12):
        fake.ask()
        fake.finish(min((task for task in fake.open.values() if task.kind != "critic"), key=lambda task: task.id))
        counts.append(fake.algorithm.counters.generation)
    assert max(counts) >= 1
    assert np.diff(counts).max() == 1
    assert len(fake.algorithm.state.schedule.finished) < 4


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"search": "snse"}, "unknown search 'snse'; did you mean 'snes'"),
        ({"learner": "td4"}, "unknown learner 'td4'; did you mean 'td3'"),
        ({"options": "directions"}, "must be NAME=VALUE"),
        ({"options": "top=3"}, "unknown option 'top'"),
        ({"options": "population=3"}, "--set population=VALUE instead"),
        ({"search": "none", "population": 1, "n_grad": 1, "elites": 1}, "at least 2"),
        ({"search": "none", "coupling": "side", "population": 1, "n_grad": 0, "elites": 1}, "at least 2"),
        ({"search": "ars", "options": "directions=1 top=1", "n_grad": 3}, r"n_grad \(3\) cannot exceed population"),
        ({"search": "snes", "options": "stdev_learning_rate=-1"}, "must be at least 0"),
    ],
)
def test_what_cannot_run_is_refused(settings, words, new_fake):
    with pytest.raises(UsageError, match=words):
        new_fake(CEMRL, resolve(CEMRLSettings, "Fake-v0", {}, SMALL | settings))


@pytest.mark.parametrize(
    ("search", "more"),
    [
        ("snes", {"learner": "sac", "coupling": "side"}),
        ("ars", {"options": "directions=2 top=1", "schedule": "phases", "learner": "ddpg"}),
        pytest.param("cem", {"learner": "crossq", "coupling": "side"}, marks=pytest.mark.slow),
        pytest.param(
            "cem",
            {"learner": "crossq", "coupling": "winners", "options": "gradient_interval=1 sac_episodes=1"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_whole_run_of_a_combination_is_interrupted_and_gives_the_same_rows(search, more, tmp_path):
    settings = {"search": search, "population": 4, "n_grad": 2, "elites": 2, "start_timesteps": 100} | more
    whole, parts = (make_cell("cem-rl", tmp_path / name, steps=600, settings=settings) for name in "ab")
    assert run(whole) == 0
    interrupt(parts, 7, 20)
    assert run(parts) == 0
    assert all_rows(parts.directory) == all_rows(whole.directory)
    assert int(all_rows(whole.directory)["eval.csv"][-1]["actor_updates"]) > 0


def test_a_whole_run_in_the_steady_state(tmp_path):
    settings = {"search": "ga", "schedule": "steady-state", "options": "parents=2", "population": 4, "elites": 2}
    cell = make_cell("cem-rl", tmp_path, settings=settings | {"start_timesteps": 100})
    assert not registry.find("cem-rl").is_synchronous(cell.settings)
    interrupt(cell, 20)
    assert run(cell) == 0
    check_counts(cell)


PAGE = Path(__file__).parents[2] / "docs" / "hybrids.md"


@pytest.fixture(scope="module")
def page_modules(tmp_path_factory):
    """The modules of the page, typed into files."""
    search, learner, policy = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert max(len(text.splitlines()) for text in (search, learner, policy)) <= 40
    folder = tmp_path_factory.mktemp("modules")
    (folder / "my_search.py").write_text(search)
    (folder / "my_learner.py").write_text(learner)
    (folder / "my_policy.py").write_text(policy)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield


@pytest.mark.parametrize("learner", ["smoothed", "decayed"])
def test_the_page_s_search_and_learners_run_together_and_go_on(learner, page_modules, tmp_path):
    settings = {
        "search": "my_search:BetterHalf", "learner": f"my_learner:{learner}", "options": "spread=0.02",
        "population": 4, "n_grad": 2, "elites": 2, "start_timesteps": 100,
    }  # fmt: skip
    whole, parts = (make_cell("cem-rl", tmp_path / name, steps=600, settings=settings) for name in "ab")
    assert run(whole) == 0
    interrupt(parts, 20)
    assert run(parts) == 0
    assert all_rows(parts.directory) == all_rows(whole.directory)
    assert int(all_rows(whole.directory)["eval.csv"][-1]["actor_updates"]) > 0


@pytest.mark.parametrize("algo", ["snes", "cem", "ga"])
def test_the_page_s_policy_is_searched_and_goes_on(algo, page_modules, tmp_path):
    settings = {"network": "my_policy:Echo"}
    whole, parts = (make_cell(algo, tmp_path / name, settings=settings) for name in "ab")
    assert run(whole) == 0
    interrupt(parts, 20)
    assert run(parts) == 0
    assert all_rows(parts.directory) == all_rows(whole.directory)
    assert returns(rows(whole.directory, "eval.csv")[-1]) == replayed(whole)
    policy = load_policy(whole.directory)
    assert policy.spec.parameters == ("decay:1", "layer.weight:1x8", "layer.bias:1")


def test_a_policy_s_module_acts_as_torch_does_and_begins_anew(page_modules):
    import my_policy
    import torch

    spec = policy_of(problem("InvertedPendulum-v5"), PolicySettings(network="my_policy:Echo"))
    vector = initial_policy(spec, (1, 2))
    assert np.array_equal(vector, initial_policy(spec, (1, 2)))
    assert not np.array_equal(vector, initial_policy(spec, (1, 3)))
    theirs, mine = my_policy.Echo(4, 1), NumpyPolicy(spec, vector)
    torch.nn.utils.vector_to_parameters(torch.from_numpy(vector), theirs.parameters())
    observations = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    for _ in range(2):
        theirs.reset()
        mine.reset()
        for observation in observations:
            expected = torch.tanh(theirs(torch.from_numpy(observation[None]))).detach().numpy()[0]
            np.testing.assert_allclose(mine.normalised(observation), expected, atol=1e-6)
    several = NumpyPolicy(spec, vector, episodes=2)
    several.reset()
    np.testing.assert_allclose(
        several.normalised(observations[:2])[0], NumpyPolicy(spec, vector).normalised(observations[0])
    )


def test_a_policy_s_file_runs_no_code(page_modules, tmp_path):
    """Neither a module that nobody imported, nor a function of one that is there."""
    spec = policy_of(problem("InvertedPendulum-v5"), PolicySettings(network="my_policy:Echo"))
    for network, error in (("nobody_s:Policy", UsageError), ("os:kill", ValueError)):
        file = tmp_path / "policy.safetensors"
        file.write_bytes(serialise_policy(np.zeros(spec.size, np.float32), replace(spec, network=network)))
        with pytest.raises(error, match=network):
            load_policy(file)


@pytest.mark.parametrize(
    ("network", "words"),
    [("gru", "unknown network 'gru'"), ("my_policy:Nothing", "cannot be imported"), ("os:kill", "no class of torch")],
)
def test_a_policy_that_is_none_is_refused(network, words, page_modules):
    with pytest.raises(UsageError, match=words):
        policy_of(problem("InvertedPendulum-v5"), PolicySettings(network=network))


def test_the_page_s_search_alone_conforms(page_modules, tmp_path):
    check_algorithm("my_search:BetterHalf", tmp_path / "runs", settings={"hidden": (8,)})


@pytest.mark.parametrize("algo", ["cem", "snes", "ga", "ars", "pgpe"])
def test_a_search_alone_goes_on_behind_the_steps_at_which_learners_begin(algo, tmp_path):
    cell = make_cell(algo, tmp_path, "Pendulum-v1", ChainSettings().start_timesteps + 1000, eval_freq=100_000)
    assert run(cell) == 0
