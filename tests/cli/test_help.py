"""Help and version: complete, quick, and without heavy imports."""

import tomllib

import pytest

from erlbench import __version__
from erlbench.cli import COMMANDS, OLD, cli
from erlbench.experiment.arguments import RunArguments
from erlbench.options import list_options
from tests.calls import python, refuse, succeed
from tests.tables import cells


def test_run_help_shows_the_options_that_people_need_and_where_the_others_are():
    output = succeed("run", "--help")
    basic = {each.flag for each in list_options(RunArguments).values() if each.basic}
    assert {line.split()[0] for line in output.splitlines() if line.startswith("  --")} == {"--help-all", *basic}
    assert succeed("--version") == f"erlbench {__version__}\n"


MISTAKES = """
runn                            | 'runn'; did you mean 'run'?
run --algoo td3                 | '--algo'
--algo td3 run                  | `erlbench COMMAND --algo`
run -algo td3                   | '-algo'. Did you mean '--algo'
run --algo cem --population 3   | --set population=VALUE
tune --algo cem --env Hopper-v5 | '--search'
show                            | 'RUN...'
"""


@pytest.mark.parametrize(("words", "named"), cells(MISTAKES))
def test_a_mistake_in_a_command_line_is_one_line(words, named):
    refuse(named, *words.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_fits_a_terminal_and_lists_options_alone(command):
    lines = succeed(command, "--help").splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines[lines.index("Options:") + 1 :] if line[:2] == "  " and line[2] not in " -"]


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from click.testing import CliRunner; from erlbench.cli import cli; "
        "assert CliRunner().invoke(cli, ['run', '--help']).exit_code == 0; "
        "print([m for m in ('torch', 'numpy', 'gymnasium', 'pandas', 'rich', 'matplotlib') if m in sys.modules])"
    )
    assert python("-c", code).stdout.strip() == "[]"


FLAGS = tomllib.loads(OLD.read_text())
OLD_COMMANDS = FLAGS.pop("commands")


def test_commands_and_options_of_earlier_versions_name_the_new_way_in_a_line():
    for name, command in OLD_COMMANDS.items():
        refuse(f"`erlbench {command}`", name, "--algo", "cem")
        assert command.split()[0] in COMMANDS
    for name, flags in FLAGS.items():
        known = cli.get_command(cli.make_context("erlbench", [name]), name).params
        for flag, way in flags.items():
            refuse(f"the option '{flag}' is gone; {way}\n", name, flag, 1)
            assert flag not in [word for option in known for word in option.opts]
