"""Parts of a problem's identity: files that settings name, compiled models, and what differs between two identities."""

import copy
import hashlib
from functools import reduce
from types import SimpleNamespace

import gymnasium
import pytest

from erlbench.work.identity import (
    changes,
    describe_files,
    file_digest,
    last_identity,
    list_identities,
    model_digest,
    named_files,
)

ONE = {"versions": {"numpy": "1", "glfw": "2"}, "modules": {"m": "a"}, "files": {"s.f": "a"}, "model": "a"}


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        ({}, []),
        ({"versions": {"numpy": "2", "glfw": "3"}}, ["package numpy 1 -> 2"]),
        ({"versions": {"torch": "2"}}, ["package numpy 1 -> not loaded", "package torch not loaded -> 2"]),
        ({"modules": {"m": "b", "n": "a"}}, ["source of module m changed", "source of module n new"]),
        ({"files": {}}, ["file of s.f not there any more"]),
        ({"model": "b"}, ["compiled MuJoCo model changed"]),
    ],
)
def test_what_differs_is_named(part, lines):
    assert changes(ONE, ONE | part) == lines
    assert changes({}, ONE | part) == changes(ONE | part, {}) == []


def test_starts_without_an_identity_are_passed_over():
    starts = [{"identity": identity} for identity in (ONE, {}, None, "text", ONE | {"model": "b"})]
    meta = {"starts": [{}, *starts, {}]}
    assert list_identities(meta) == [ONE, ONE | {"model": "b"}]
    assert last_identity(meta) == ONE | {"model": "b"}
    assert last_identity({"starts": [{}]}) == {}


def test_a_module_belongs_to_what_has_installed_its_file_and_not_to_what_develops_it(tmp_path, monkeypatch):
    for name, text in {
        "Installed_Name-1.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: Installed-Name\nVersion: 1.5\n",
        "Installed_Name-1.5.dist-info/RECORD": "package/__init__.py,,\nmodule.py,,\n../../../bin/tool,,\n",
        "developed-2.dist-info/METADATA": "Metadata-Version: 2.1\nName: developed\nVersion: 2\n",
        "developed-2.dist-info/RECORD": "__editable__.developed-2.pth,,\ndeveloped-2.dist-info/METADATA,,\n",
        "package/__init__.py": "", "package/part.py": "", "module.py": "", "developed/__init__.py": "new = 1",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    files = {name: str(tmp_path / name) for name in ("package/__init__.py", "package/part.py", "module.py")}
    developed = tmp_path / "developed" / "__init__.py"
    assert describe_files({**files, "developed": str(developed)}) == {
        "versions": {"Installed-Name": "1.5"}, "modules": {"developed": file_digest(developed)}
    }  # fmt: skip


def test_files_are_found_in_any_part_of_a_setting(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "x"
    file.write_bytes(b"abc")
    value = {"a": "~/x", "b": [1, str(file), (None, {"c": str(file)})], "d": str(tmp_path), "e": "\0", "f": "a" * 9999}
    assert dict(named_files("s", value)) == dict.fromkeys(("s.a", "s.b[1]", "s.b[2][1].c"), str(file))
    assert file_digest(file) == hashlib.sha256(b"abc").hexdigest()
    assert [file_digest(path) for path in (tmp_path, tmp_path / "none", "\0")] == [""] * 3


def test_the_digest_of_a_model_has_all_of_it_wherever_an_environment_keeps_it():
    env = gymnasium.make("InvertedPendulum-v5").unwrapped
    first = model_digest(env)
    physics = SimpleNamespace(model=SimpleNamespace(ptr=env.model))
    for holder in ({"sim": env}, {"physics": physics}, {"_env": SimpleNamespace(physics=physics)}):
        assert model_digest(SimpleNamespace(unwrapped=SimpleNamespace(**holder))) == first
    digests = {first, model_digest(SimpleNamespace(unwrapped=SimpleNamespace(model=copy.copy(env.model))))}
    assert len(digests) == 1
    for path in ("opt.gravity", "opt.timestep", "opt.iterations", "stat.extent", "vis.headlight.active", "body_mass"):
        model = copy.copy(env.model)
        *parts, name = path.split(".")
        holder = reduce(getattr, parts, model)
        setattr(holder, name, getattr(holder, name) * 2)
        digests.add(model_digest(SimpleNamespace(unwrapped=SimpleNamespace(model=model))))
    assert len(digests) == 7
    assert model_digest(SimpleNamespace(unwrapped=env.spec)) == ""
