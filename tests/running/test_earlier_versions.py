"""Runs of earlier formats: what is left of one is verified; none goes on."""

import re

import pytest

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.records.run import CHECKPOINTS, FORMAT, TRAINING_END
from erlbench.verification import AGREES, DIFFERS, load_files
from erlbench.verification.comparison import compare_runs, run_again
from tests.files import contents, edit_json
from tests.runs import complete, csv_rows, four_first, interrupt, make_cell, run

# Dataclasses in the checkpoints of format 5: of all runs; and in `erlbench.algorithms`, of a family's states and of
# its settings of tasks. One that moves or is renamed needs another format.
NAMES = {
    "erlbench.envs.registry:EnvSpec", "erlbench.policy.spec:PolicySpec", "erlbench.running.rows:Asynchrony",
    "erlbench.running.evaluation:EvaluationState", "erlbench.running.evaluation:Pending",
    "erlbench.work.rollout:RolloutSettings", "erlbench.work.tasks:ArrayRef", "erlbench.work.tasks:Perturbed",
    "erlbench.work.tasks:Task",
}  # fmt: skip
IN_FLIGHT = {"erlbench.work.tasks:Output", "erlbench.work.tasks:ReplayView"}  # only where tasks wait or learn
UPDATES = "training.update_settings:Episodes training.update_settings:Updates"
CHAIN = "hybrid:HybridState schedule.chain:ChainState"
HYBRID = f"search.evolution_strategy:NoiseSum {UPDATES}"
GAUSSIAN = "search.search_distribution:SearchDistribution"
STATISTICS = "search.observation_statistics:ObservationStatistics"
OF_FAMILIES = {
    "td3": "td3:TD3State training.update_settings:Episodes",
    "ddpg": "ddpg:DDPGState training.update_settings:Episodes",
    "sac": "sac:SACState training.update_settings:Episodes",
    "crossq": "crossq:CrossQState training.update_settings:Episodes",
    "esac": f"{CHAIN} {HYBRID} coupling.winners:WinnersState search.esac:ESACSearchState search.optimisers:Moments",
    "ppo": "ppo:PPOState parts.on_policy_settings:PPOIteration",
    "trpo": "trpo:TRPOState parts.on_policy_settings:TRPOIteration",
    "openai-es": "openai_es:Gathered openai_es:OpenAIESState openai_es:Pair search.evolution_strategy:NoiseSum "
    f"{STATISTICS} search.optimisers:Moments",
    "snes": f"{CHAIN} search.search:GaussianState {GAUSSIAN}",
    "ga": f"{CHAIN} ga:GAState",
    "ars": f"{CHAIN} ars:ARSState {STATISTICS}",
    "pgpe": f"{CHAIN} pgpe:PGPEState {STATISTICS} search.optimisers:Moments",
    "cem": f"{CHAIN} search.cem:CEMState {GAUSSIAN}",
    "cma-es": "replayed:ToldState",
    "cem-rl": f"{CHAIN} {HYBRID} search.cem:CEMState {GAUSSIAN} training.gradient_tasks:CriticState",
    "multi-actor-td3": "multi_actor_td3:ActorState multi_actor_td3:MultiActorTD3State training.update_settings:Updates",
    "evorainbow-exp": f"{CHAIN} {HYBRID} coupling.side:SideState search.cem:CEMState {GAUSSIAN}",
    "pderl": f"{CHAIN} {HYBRID} coupling.side:SideState search.pderl:PDERLState training.breeding:Distillation "
    "training.breeding:ProximalMutation",
    "erl": f"{CHAIN} {HYBRID} coupling.side:SideState search.genetic:GeneticState training.critic:CriticSpec "
    "training.update_settings:DDPGUpdate",
    "aes-rl": f"hybrid:HybridState {HYBRID} schedule.steady_state:InFlight schedule.steady_state:Underway "
    f"search.aes:AESState {GAUSSIAN} training.gradient_tasks:CriticState",
}


@pytest.mark.parametrize("algo", four_first(OF_FAMILIES))
def test_the_dataclasses_of_a_checkpoint_have_the_names_of_its_format(tmp_path, algo):
    """One was moved to another module, so that no interrupted run of the commit before could go on."""
    assert FORMAT == 5
    cell = interrupt(make_cell(algo, tmp_path), 12)
    *_, state = sorted(cell.directory.glob(f"{CHECKPOINTS}/*/state.json"))
    names = set(re.findall(r'"\$type": "([^"]+)"', state.read_text()))
    names |= {f"{kind.__module__}:{kind.__qualname__}" for kind in registry.find(algo).task_functions.values()}
    assert names - NAMES - IN_FLIGHT == {f"erlbench.algorithms.{name}" for name in OF_FAMILIES[algo].split()}
    if algo == "cem-rl":
        assert names >= NAMES


def made_by(cell, number, folder):
    """Have a run's newest checkpoint, and its meta.json, be of another format, which 0.1.0 did not write there."""
    for state in cell.directory.glob(f"{folder}/*/state.json"):
        state.write_bytes(state.read_bytes().replace(b'{"format": %d,' % FORMAT, b'{"format": %d,' % number))

    def change(meta):
        for start in [meta, *meta["starts"]]:
            if start.pop("format", None) and number != 2:
                start["format"] = number
        meta["versions"]["erlbench"] = "0.1.0" if number == 2 else "9.0"

    edit_json(cell.directory / "meta.json", change)


@pytest.mark.parametrize(
    ("number", "message"),
    [(2, "version 0.1.0 of erlbench wrote it (format 2"), (1, "another version of erlbench wrote it (format 1"),
     (FORMAT + 1, "later version")],
)  # fmt: skip
def test_an_interrupted_run_is_refused_and_left_as_it_is(tmp_path, number, message):
    cell = interrupt(make_cell("cem", tmp_path), 12)
    made_by(cell, number, CHECKPOINTS)
    before = contents(cell.directory)
    with pytest.raises(UsageError, match=re.escape(message)):
        run(cell, anyway=True)
    assert contents(cell.directory) == before


def test_a_finished_run_is_not_extended_but_left_alone_with_its_own_budget(tmp_path):
    cell = complete(make_cell("cem", tmp_path, steps=400))
    made_by(cell, 3, TRAINING_END)
    complete(cell)
    with pytest.raises(UsageError, match=r"version 0\.2\.0 of erlbench wrote it \(format 3"):
        run(make_cell("cem", tmp_path, steps=800))


def test_the_digests_of_a_finished_run_are_not_compared(tmp_path):
    """They were computed otherwise; all else is."""
    old, new = (make_cell("cem", tmp_path / name, steps=400, workers=0) for name in ("old", "new"))
    complete(old, new)
    text = (old.directory / "eval.csv").read_text()
    for row in csv_rows(old.directory / "eval.csv"):
        text = text.replace(row["digest"], "0" * 32)
    (old.directory / "eval.csv").write_text(text)
    assert run_again(old.directory, 1).outcome == DIFFERS
    made_by(old, 3, TRAINING_END)
    assert run_again(old.directory, 1).outcome == AGREES
    compared = compare_runs(load_files(old.directory), load_files(new.directory))
    assert {check.name: check.outcome for check in compared}["eval.csv"] == AGREES
