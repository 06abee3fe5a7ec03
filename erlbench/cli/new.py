"""`erlbench new`: a new package with one algorithm and its test."""

from __future__ import annotations

import keyword
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from string import Template

import click

from erlbench.cli.options import options_command
from erlbench.errors import UsageError
from erlbench.files import writable
from erlbench.options import argument, option

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
TEMPLATES = Path(__file__).with_name("templates")
FILES = {  # template -> the file's place in the package
    "pyproject.toml.txt": "pyproject.toml",
    "README.md.txt": "README.md",
    "test_algorithm.py.txt": "tests/test_$module.py",
}


@dataclass(frozen=True)
class NewOptions:
    """What is written."""

    what: str = argument("algorithm", choices=("algorithm",))
    name: str = argument("NAME")
    out: Path | None = option(None, "folder of the package [default: NAME]", "DIR")
    ask_tell: bool = option(False, "a search with ask and tell, in 20 lines")


@options_command(NewOptions)
def command(options: NewOptions) -> None:
    """Write a package with the algorithm NAME and its conformance test.

    It works as it is: replace its search by yours. erlbench itself is not changed.

    \b
    Examples:
      erlbench new algorithm my-search
      erlbench new algorithm my-search --ask-tell
    """
    from erlbench.algorithms import registry

    name, folder = options.name, options.out or Path(options.name)
    if not NAME.fullmatch(name):
        raise UsageError(f"'{name}' is no name of an algorithm: lower-case words joined by -, such as my-search")
    if name in registry.names():
        raise UsageError(f"there is an algorithm '{name}' already; choose another name")
    if folder.exists():
        raise UsageError(f"{folder} exists already; choose another folder by --out")
    cls = "".join(map(str.capitalize, name.split("-")))
    algorithm = "ask_tell.py.txt" if options.ask_tell else "algorithm.py.txt"
    code = (TEMPLATES / algorithm).read_text(encoding="utf-8")
    if keyword.iskeyword(cls) or re.search(rf"\b{cls}\b", code):
        raise UsageError(f"'{name}' makes a class {cls}, a name that Python or the package uses; choose another name")
    names = {"name": name, "module": f"erlbench_{name.replace('-', '_')}", "cls": cls}
    for template, place in {**FILES, algorithm: "$module.py"}.items():
        path = folder / Template(place).substitute(names)
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        with writable(folder, "; choose another folder by --out"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(Template(text).substitute(names), encoding="utf-8")
        click.echo(path)
    click.echo(f"\nNext: cd {shlex.quote(str(folder))}, write {path.name}, then: pip install --no-deps -e . && pytest")
