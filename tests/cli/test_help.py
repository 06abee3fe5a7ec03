"""Help and version: complete, quick, and without heavy imports."""

from __future__ import annotations

import resource
import subprocess
import sys
import tomllib

import click
import pytest
from click.testing import CliRunner

from erlbench import __version__
from erlbench.cli import COMMANDS, OLD, cli
from erlbench.experiment.arguments import RunArguments
from erlbench.options import list_options

RUN = [each for each in list_options(RunArguments).values() if not each.file_only]
BASIC = [each.flag for each in RUN if each.basic]


def invoke(*words: str):
    return CliRunner().invoke(cli, list(words))


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_told_in_one_form(name):
    """Values by words, such as N or FILE, not by the parser's types; texts that begin small and end without a stop."""
    group = cli.make_context("erlbench", [name])
    context = click.Context(command := cli.get_command(group, name), parent=group)
    for option in command.get_params(context):
        if not isinstance(option, click.Option) or "--help" in option.opts:  # which is click's own
            continue
        assert not {"RANGE", "PATH", "TEXT", "INTEGER", "FLOAT"} & set(option.make_metavar(context).split())
        assert not option.help.removesuffix(", ...").endswith(".")
        assert not option.help.split()[0].istitle()


def test_run_help_shows_the_options_that_people_need_and_where_the_others_are():
    output = invoke("run", "--help").output
    assert len(BASIC) <= 12
    assert len(RUN) + len(("--help-all", "--help")) <= 30
    shown = {line.split()[0] for line in output.splitlines() if line.startswith("  --")}
    assert shown == {"--help-all", *BASIC}
    assert len(output.splitlines()) < 50


def test_version():
    assert invoke("--version").output == f"erlbench {__version__}\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("runn", "'runn'; did you mean 'run'?"),
        ("qwerty", "'qwerty'; there are demo, run, "),
        ("run --algoo td3", "'--algo'"),
        ("run --algo", "'--algo'"),
        ("tune --algo cem --env Hopper-v5", "'--search'; see `erlbench tune --help`"),
        ("show", "'RUN...'"),
    ],
)
def test_a_mistake_in_a_command_line_is_one_line(words, named):
    result = CliRunner().invoke(cli, words.split(), prog_name="erlbench")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("erlbench: ")
    assert named in result.stderr


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"]])
def test_help_is_quick(words):
    """By processor time, and the best of some: the machine may be busy."""

    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "erlbench", *words], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert any(seconds() < 0.5 for _ in range(4))


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from click.testing import CliRunner; from erlbench.cli import cli; "
        "assert CliRunner().invoke(cli, ['run', '--help']).exit_code == 0; "
        "print([m for m in ('torch', 'numpy', 'gymnasium', 'pandas', 'rich', 'matplotlib') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


FLAGS = tomllib.loads(OLD.read_text())
OLD_COMMANDS = FLAGS.pop("commands")


@pytest.mark.parametrize("name", OLD_COMMANDS)
def test_a_command_of_earlier_versions_names_the_new_one_in_a_line(name):
    result = CliRunner().invoke(cli, [name, "--algo", "cem"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert f"`erlbench {OLD_COMMANDS[name]}`" in result.stderr
    assert OLD_COMMANDS[name].split()[0] in COMMANDS


@pytest.mark.parametrize(("name", "flag"), [(name, flag) for name, flags in FLAGS.items() for flag in flags])
def test_an_option_of_earlier_versions_names_the_new_way_in_a_line(name, flag):
    result = CliRunner().invoke(cli, [name, flag, "1"])
    assert result.exit_code == 2
    assert result.stderr == f"erlbench: the option '{flag}' is gone; {FLAGS[name][flag]}\n"
    command = cli.get_command(cli.make_context("erlbench", [name]), name)
    assert flag not in [word for option in command.params for word in option.opts]
