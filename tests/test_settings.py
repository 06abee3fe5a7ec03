"""Hyper-parameters: types, layers, ranges, messages."""

import re
from ast import literal_eval
from dataclasses import dataclass, fields

import pytest

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.settings import environment_name, resolve, setting, setting_text, toml_values
from tests.tables import cells


@dataclass(frozen=True)
class Settings:
    batch_size: int = setting(100, "transitions per step", "paper", minimum=1)
    tau: float = setting(0.005, "target step", by_env={"Humanoid": 0.01}, minimum=0, maximum=1)
    hidden: tuple[int, ...] = setting((400, 300), "widths", minimum=1)
    activation: str = setting("tanh", "activation", choices=("tanh", "relu"))
    antithetic: bool = setting(True, "mirror")
    limit: int | None = setting(None, "bound")

    def __post_init__(self):
        if self.limit is not None and self.limit > self.batch_size:
            raise ValueError(f"limit ({self.limit}) cannot exceed batch_size ({self.batch_size})")


def resolved(**overrides):
    return resolve(Settings, "Hopper-v5", {}, overrides, owner="td3")


FORMS = """
batch_size | "1e5"     | 100_000
batch_size | "1_000"   | 1000
batch_size | 2.0       | 2
hidden     | "400-300" | (400, 300)
hidden     | "64,32"   | (64, 32)
hidden     | [8]       | (8,)
antithetic | "true"    | True
antithetic | "No"      | False
antithetic | "off"     | False
tau        | "1"       | 1.0
"""


@pytest.mark.parametrize(("name", "given", "expected"), cells(FORMS))
def test_a_value_is_taken_in_its_forms(name, given, expected):
    value, expected = getattr(resolved(**{name: literal_eval(given)}), name), literal_eval(expected)
    assert (value, type(value)) == (expected, type(expected))


REFUSED = """
batch_size | 1.5   | 'batch_size' of td3 must be an integer
batch_size | 0     | at least 1
tau        | nan   | a finite number
tau        | 1.5   | at most 1
hidden     | 400-0 | at least 1
hidden     | a-b   | 'a-b'
activation | rellu | did you mean 'relu'
antithetic | maybe | true or false
bach_size  | 1     | did you mean 'batch_size'
limit      | 200   | limit (200) cannot exceed batch_size (100)
"""


@pytest.mark.parametrize(("name", "value", "message"), cells(REFUSED))
def test_a_value_that_does_not_fit_a_setting_is_named(name, value, message):
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        resolved(**{name: value})
    assert caught.value.exit_code == 2


def test_whatever_a_settings_class_raises_is_named():
    class Picky(Settings):
        def __post_init__(self):
            raise RuntimeError("tau is too small")

    with pytest.raises(UsageError, match="settings of mine: tau is too small"):
        resolve(Picky, "Hopper-v5", owner="mine")


def test_later_layers_win():
    assert resolve(Settings, "Humanoid-v5").tau == 0.01
    assert resolve(Settings, "Humanoid-v5", {"tau": 0.5}).tau == 0.5
    assert (
        resolve(Settings, "Humanoid-v5", {"tau": 0.5}, {"tau": "0.005"}).tau == 0.005
    )  # equal to the default, still wins
    assert resolve(Settings, "HumanoidStandup-v5").tau == 0.005
    assert resolve(Settings, "my.package:Humanoid-v12@paper").tau == 0.01
    assert environment_name("dm_control/walker-run-v0") == "dm_control/walker-run"


def test_text_is_what_set_takes():
    settings = resolved()
    texts = {name: setting_text(getattr(settings, name)) for name in toml_values(settings)}
    assert texts["hidden"] == "400-300"
    assert texts["antithetic"] == "true"
    assert texts["limit"] == "none"
    assert resolve(Settings, "Hopper-v5", {}, texts) == settings


def test_a_value_is_required_or_that_of_a_namespace_where_the_environment_is_not_named():
    @dataclass(frozen=True)
    class Required:
        rate: float

    with pytest.raises(UsageError, match=r"'rate' .*--set rate=VALUE"):
        resolve(Required, "Hopper-v5")

    @dataclass(frozen=True)
    class Spaced:
        rate: float = setting(1.0, "a rate", by_env={"dm_control": 2.0, "dm_control/fish-swim": 3.0})

    found = [resolve(Spaced, env).rate for env in ("Ant-v5", "dm_control/fish-swim-v0", "dm_control/walker-run-v0")]
    assert found == [1.0, 3.0, 2.0]


# Floats that may be below zero; all others are rates, sizes, shares or probabilities.
SIGNED = {
    "absolute_baseline", "entropy_coefficient", "log_std_init", "p_negative", "p_positive", "reward_shift",
    "target_entropy",
}  # fmt: skip
PART = re.compile(r"(initial |final )?probability\b|share of|discount|how far (the targets|the learner's actor) move")


def test_ranges_of_all_algorithms_refuse_negative_sizes_and_probabilities_above_1():
    signed, parts = set(), {}
    for name in registry.ALGORITHMS:
        for field in fields(registry.find(name).settings_type):
            if "float" in str(field.type):
                low, high = field.metadata["minimum"], field.metadata["maximum"]
                signed |= {field.name} if low is None or low < 0 else set()
                if PART.match(field.metadata["help"]):
                    parts[field.name] = low, high
    assert signed == SIGNED
    assert {"discount", "tau", "p_start", "p_end", "mean_share", "p_desired"} <= parts.keys()
    assert {name: bounds for name, bounds in parts.items() if bounds not in ((0, 1), (0, 0.5))} == {}
