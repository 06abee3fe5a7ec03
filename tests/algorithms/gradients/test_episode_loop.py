"""Several episodes in one task: what they learn from is what the replay gets afterwards."""

from dataclasses import replace

import numpy as np
import pytest

from erlbench.algorithms.gradients import episode_loop
from erlbench.algorithms.gradients.episode_loop import Memory, learn_episodes
from erlbench.algorithms.training.critic import critic_spec
from erlbench.algorithms.training.update_settings import Episodes, Update
from erlbench.envs.registry import problem
from erlbench.errors import NumericalError
from erlbench.policy import PolicySpec
from erlbench.work.rollout import Episode, transitions
from erlbench.work.workspace import Workspace


@pytest.fixture
def cell(new_context):
    """Settings of an environment whose episodes end early, a workspace, and a replay with two episodes."""
    task = problem("InvertedPendulum-v5")
    spec = PolicySpec((task.observation_size, 4, 1), "relu", task.action_low, task.action_high)
    context = new_context(task, 0, 1000)
    replay, workspace = context.replay, Workspace(context.store)
    settings = Episodes(
        update=Update(spec, critic_spec(spec, (4,), "relu"), 8),
        env=task.env,
        timesteps=0,
        limit=30,
        start_timesteps=10,
        replay_size=1000,
        critic_updates=0,
        actor_updates=0,
        episodes=5,
        start_updates=0,
    )
    past, _ = learn_episodes(replace(settings, episodes=2), replay.view(), (1,), workspace, still, lambda *_: None)
    replay.append(**transitions(past), lengths=[episode.length for episode in past])
    yield settings, workspace, replay
    workspace.close()


def still(observation, random, action):
    action[:] = 0.0


def gathered(source, start, stop, size):
    arrays = [np.zeros((stop - start, columns), np.float32) for columns in (size, 3, size)]
    source.gather(np.arange(start, stop), *arrays)
    return arrays


def test_every_update_sees_the_past_and_all_steps_so_far(cell):
    settings, workspace, replay = cell
    seen = []

    def update(memory, random, index):
        assert index == len(seen)
        seen.append((memory.start, memory.stop, gathered(memory, memory.start, memory.stop, 4)))

    before = replay.length
    episodes, updates = learn_episodes(settings, replay.view(), (2,), workspace, still, update)
    lengths = [episode.length for episode in episodes]
    assert len(lengths) == 5
    assert len(set(lengths)) > 1
    assert updates == len(seen) == sum(lengths)
    assert [stop for _, stop, _ in seen] == list(range(before + 1, before + 1 + updates))
    actions = np.concatenate([episode.actions[: episode.length, 0] for episode in episodes])
    assert actions[:10].all(), "random at first"
    assert not actions[10:].any(), "then its own, in later episodes, too"
    replay.append(**transitions(episodes), lengths=lengths)
    expected = gathered(Workspace(workspace.store).replay(replay.view()), 0, replay.length, 4)
    for start, stop, arrays in seen:
        assert start == 0
        for found, whole in zip(arrays, expected):
            np.testing.assert_array_equal(found, whole[:stop])
    assert (expected[1][:, 2] == 0).sum() == sum(episode.terminated for episode in episodes) + 2


def test_a_reward_that_is_no_number_ends_the_task_with_its_step(cell, monkeypatch):
    (settings, workspace, replay), advance = cell, episode_loop.advance

    def broken(env, action, step, *more):
        observation, reward, *ends = advance(env, action, step, *more)
        return observation, np.nan if step == 3 else reward, *ends

    monkeypatch.setattr(episode_loop, "advance", broken)
    with pytest.raises(NumericalError, match="step 3"):
        learn_episodes(settings, replay.view(), (2,), workspace, still, lambda *_: None)


def test_memory_joins_past_and_present(context):
    replay = context.replay
    replay.append(np.arange(15.0).reshape(5, 3), np.full((4, 1), 0.5), np.arange(4.0), np.ones(4), [4])
    memory = Memory(replay.view(), Workspace(context.store), 3, 5)
    episode = Episode(3, 3, 1)
    episode.observations[:] = 100 + np.arange(12).reshape(4, 3)
    episode.actions[:], episode.rewards[:] = -0.5, (7, 8, 9)
    memory.observations[0] = episode.observations[0]
    for episode.length in (1, 2, 3):
        episode.terminated = episode.length == 3
        memory.add(episode)
    assert (memory.start, memory.stop) == (2, 7), "the ring holds five transitions"
    arrays = [np.empty((4, n), np.float32) for n in (3, 3, 3)]
    memory.gather(np.array([6, 3, 4, 0]), *arrays)
    assert arrays[0][:, 0].tolist() == [9, 0, 106, 100]
    assert arrays[1].tolist() == [[0.5, 3, 1], [0.5, 0, 1], [-0.5, 9, 0], [-0.5, 7, 1]]
    assert arrays[2][:, 0].tolist() == [12, 3, 109, 103]
