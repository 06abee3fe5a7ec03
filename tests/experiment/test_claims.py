"""The file of claims: read strictly, and every claim is whole."""

from __future__ import annotations

import pytest

from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.experiment.claims import DOCUMENT, PLAN, find_claim, load_claims
from erlbench.experiment.command import requested_cells

CLAIM = """[claims.one]
document = "D"
place = "1"
whose = "W"
says = "A is above B."
holds = "It is."
fails = "It is not."
test = "Welch"
budget = "final"
run = { algo = ["cem"], env = ["Pendulum-v1"], seeds = 2 }
first = { published = "D", table = "T" }
second = { value = 1.0 }
parts = [
    { env = "E", first = { name = "A" }, label = "A over 1" },
]
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "claims.toml"
        path.write_text(text)
        return load_claims(path)

    return read


def test_what_parts_share_stands_once(read):
    (claim,) = read(CLAIM).values()
    (part,) = claim.parts
    assert (part.first.published, part.first.table, part.first.env, part.first.name) == ("D", "T", "E", "A")
    assert (part.second.kind, part.second.env) == ("value", "E")
    assert (claim.needed, claim.basis, claim.kinds) == (1, DOCUMENT, {"published"})


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('place = "1"', 'plaec = "1"', 3, "place"),  # a misspelt key
        ('env = "E"', 'enf = "E"', 14, "env"),
        ('table = "T" }', 'tabel = "T" }', 14, "table"),  # said where the part takes it
        ("{ value = 1.0 }", '{ value = 1.0, others = "O" }', 14, "others and value"),
        ("{ value = 1.0 }", "{ steps = 5 }", 14, "none of them"),
        ("{ value = 1.0 }", '{ value = "1" }', 14, "value"),
        ("seeds = 2", "sedes = 2", 10, "seeds"),
        ('budget = "final"', 'budget = "final"\nbasis = "plan"', 1, "SHA-256"),
        ('budget = "final"', 'budget = "final"\nplan = "abc"', 1, "SHA-256"),
        ('label = "A over 1"', 'contrast = "A over 1"', 14, "sides"),
        ('budget = "final"', 'budget = "final"\nbasis = "ours"', 10, "basis"),
        ('budget = "final"', 'budget = "final"\nneeds = 2', 10, "needs"),
        ('budget = "final"', 'budget = "final"\nmargin = -1.0', 10, "margin"),
        ('budget = "final"', 'budget = "final"\nwithin = 0.1\nmargin = 1.0', 10, "within"),
        ('says = "A is above B."\n', "", 1, "says"),
        ('run = { algo = ["cem"], env = ["Pendulum-v1"], seeds = 2 }\n', "", 1, "lacks"),
        ("second = { value = 1.0 }", 'second = { value = 1.0, over = { valeu = 2.0 } }', 14, "value"),
    ],
)  # fmt: skip
def test_a_claim_out_of_form_is_refused_with_its_place(read, old, new, line, words):
    assert old in CLAIM
    with pytest.raises(UsageError) as error:
        read(CLAIM.replace(old, new))
    assert f"line {line}" in str(error.value)
    assert words in str(error.value)


def test_the_suite_has_claims_of_all_four_documents():
    claims = load_claims()
    assert {claim.document for claim in claims.values()} == {
        "AES-RL paper", "ESAC paper", "GoodAI blog", "OpenAI-ES blog"
    }  # fmt: skip
    assert all(bool(claim.plan) == (claim.basis == PLAN) for claim in claims.values())
    assert all(claim.core_hours for claim in claims.values() if claim.run)
    with pytest.raises(UsageError, match="swimmer-hard-for-rl"):
        find_claim(claims, "swimmer-hard-for-lr")


@pytest.mark.parametrize("name", [name for name, claim in load_claims().items() if claim.run])
@pytest.mark.slow
def test_the_command_of_a_claim_names_cells(name):
    assert requested_cells(arguments({"claim": name, "force": True}))


def test_options_that_are_typed_win_over_those_of_a_claim():
    asked = arguments({"claim": "aes-any-learner", "seed": 3, "env": ("Hopper-v5",), "set": ("batch_size=64",)})
    assert (asked.algo, asked.all_seeds, asked.env) == (("aes-rl",), (3,), ("Hopper-v5",))
    assert {key: str(value) for key, value in asked.set.items()} == {"learner": "sac", "batch_size": "64"}


def test_a_claim_without_a_command_says_what_it_lacks():
    with pytest.raises(UsageError, match="Atari"):
        arguments({"claim": "montezuma-key"})
