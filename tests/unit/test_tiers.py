"""Which tests make test runs, how test-all is divided, and what it remembers."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import tiers
from all_wrong import none_wrong, relative
from conftest import REPOSITORY
from tiers import GIT, Memory, Shard, by_module, changed, is_quick, shards_of

TESTS = REPOSITORY / "tests"
EVERYDAY, THOROUGH = "pytest.mark.everyday", "pytest.mark.thorough"
NOT_AT_WORK = {
    *("sim", "external", "none"),  # models, what others deployed, and nothing
    *("vpp", "trex", "dperf", "dpvs"),  # no package brings them: make test-all ONLY=…
    "ipvs",  # not every kernel has it, and a router stands for the hop
    *("haproxy", "nginx-stream"),  # a router stands for the hop that they share with it
    *("ixnetwork", "spirent", "xena"),  # chassis, a package outside; conversations are recorded
    *("command", "memory-vm", "stress-vm"),  # a user's own, and guests of what is at work here
}
"""Kinds of parts that no everyday test has at work."""
CLOCKS = {"sleep"}
"""What an everyday test does not do in its own words: a busy machine makes nonsense of it."""
MEANS = {"flaky", "xfail"}
"""Marks by which a failure becomes none; running.py alone has a test run again, on evidence."""


def test_shards_have_each_module_once_and_are_equally_long(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {f"m{n}": float(n) for n in range(20)}
    monkeypatch.setattr(tiers, "seconds_of_modules", lambda: known)
    found = shards_of({module: int(module[1:]) % 2 == 0 for module in known}, 3)
    assert found.keys() == known.keys()
    assert set(found.values()) == {1, 2, 3}
    for lane in (0, 1):
        lengths = [
            sum(known[m] for m, shard in found.items() if shard == n and int(m[1:]) % 2 == lane)
            for n in (1, 2, 3)
        ]
        assert max(lengths) - min(lengths) <= max(known.values()) / 3


def test_the_tests_of_a_divided_module_are_in_all_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "seconds_of_modules", lambda: {"kills": 900.0, "one": 300.0})
    found = shards_of({"one": True, **{f"kills::test[{n}]": True for n in range(9)}}, 3)
    assert Counter(found.values()) == {
        found["one"]: 2,
        **dict.fromkeys({1, 2, 3} - {found["one"]}, 4),
    }


def test_tests_of_a_divided_module_that_nobody_has_looked_at_are_in_all_shards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tiers, "seconds_of_modules", lambda: {"one": 6.0})
    found = shards_of({"one": False, **{f"kills::test[{n}]": False for n in range(8)}}, 3)
    assert Counter(found.values()) == {1: 3, 2: 3, 3: 3}


def test_a_check_has_short_modules_and_those_that_were_changed(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, here = request.node, "tests/unit/test_tiers.py"
    changed_files: set[str] = set()
    monkeypatch.setattr(tiers, "changed_since_commit", lambda: changed_files)
    monkeypatch.setattr(tiers, "seconds_of_modules", dict)
    assert is_quick(item), "nobody has looked how long it takes"
    monkeypatch.setattr(tiers, "seconds_of_modules", lambda: {here: tiers.QUICK_S + 1.0})
    assert not is_quick(item)
    changed_files.add(here)
    assert is_quick(item)
    item.add_marker(pytest.mark.thorough)
    assert not is_quick(item)


def test_a_machine_disturbs_what_joins_a_contract_that_starts_processes(tmp_path: Path) -> None:
    """Else it would not be run again where the machine was away, nor be among what proves luck."""
    (tmp_path / "my_contract.py").write_text("import signal\n")
    for imported, touching in (("my_contract", True), ("pathlib", False), ("a_contract", False)):
        (module := tmp_path / f"test_{imported}.py").write_text(f"from {imported} import Path\n")
        assert tiers.imports_touching(module) is touching


@pytest.mark.parametrize("text", ["", "3", "0/8", "9/8", "a/8", "3/8/1", "-1/8"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="3/8"):
        Shard.parse(text)


def test_what_has_passed_is_remembered_whatever_cuts_it_off(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "build" / "passed.jsonl")
    memory.add("a.py::test_x[1]", 1.5)
    memory.add("a.py::test_y", 2.0)
    memory.count("b.py::test_z", {"kills": 10, "lost": 0})
    memory.count("b.py::test_z", {"kills": 3, "lost": 1})
    memory.add("b.py::test_z", 0.5)
    assert memory.file is not None
    memory.file.write_text(memory.file.read_text()[:-8])
    assert memory.passed() == {"a.py::test_x[1]": 1.5, "a.py::test_y": 2.0}
    assert by_module(memory.passed()) == {"a.py": 3.5}
    assert memory.counted() == {"kills": 13, "lost": 1}


def commit(repository: Path, name: str, date: str) -> None:
    (repository / name).parent.mkdir(parents=True, exist_ok=True)
    (repository / name).write_text(date)
    words = ["-c", "user.name=n", "-c", "user.email=e", "-C", str(repository)]
    environ = {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date, "HOME": str(repository)}
    for command in (["add", "-A"], ["commit", "-qm", name]):
        subprocess.run([*GIT, *words, *command], check=True, env=environ)


def test_scaffolding_is_tested_when_the_last_day_of_work_touched_it(tmp_path: Path) -> None:
    subprocess.run([*GIT, "init", "-q", str(tmp_path)], check=True)
    commit(tmp_path, "tools/old", "2026-01-01T00:00:00Z")
    commit(tmp_path, "tools/yesterday", "2026-01-03T12:00:00Z")
    commit(tmp_path, "tools/now", "2026-01-04T10:00:00Z")
    assert not changed(["tools/old"], tmp_path)
    assert changed(["tools/yesterday"], tmp_path)
    assert changed(["tools/old", "tools/now"], tmp_path)
    (tmp_path / "tools" / "fresh").write_text("not committed")
    assert changed(["tools/fresh"], tmp_path)


# What contributing.md asks of tests, as far as a machine can look.


def marked(tree: ast.AST, name: str) -> bool:
    """Whether a function, a class or its module has a mark."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node).endswith(name)
        for node in ast.walk(tree)
    )


@cache
def sources() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(TESTS.rglob("*.py"))}


def test_no_test_is_run_again_or_expected_to_fail_by_a_mark() -> None:
    none_wrong(
        f"{relative(path)}:{node.lineno}: pytest.mark.{node.attr}"
        for path, tree in sources().items()
        if path.name != "running.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in MEANS
        and ast.unparse(node.value) == "pytest.mark"
    )


def test_no_everyday_test_of_the_real_machine_sleeps() -> None:
    """It waits for a condition, or counts what cannot be lost."""
    none_wrong(
        f"{relative(path)}:{call.lineno}"
        for path, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and any(marked(mark, "everyday") for mark in node.decorator_list)
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in CLOCKS
    )


def test_each_kind_of_part_that_packages_bring_is_at_work_in_an_everyday_test() -> None:
    texts = [path.read_text() for path in sources() if "unit" not in path.parts]
    everyday = [
        text
        for text in texts
        if (EVERYDAY in text or "vswitch_contract import" in text)
        and f"pytestmark = {THOROUGH}" not in text
    ]
    missed = [
        f"{group}: {kind.name}"
        for group in ("vsperf.vswitches", "vsperf.generators", "vsperf.vnfs", "vsperf.loads")
        for kind in entry_points(group=group)
        if kind.name not in NOT_AT_WORK
        and not any(f'"{kind.name}"' in text or f"={kind.name}" in text for text in everyday)
    ]
    assert missed == []


def test_what_scaffolding_tests_is_there() -> None:
    none_wrong(
        f"{relative(path)}:{node.lineno}: {ast.unparse(word)}"
        for path, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.scaffolding"
        for word in node.args
        if not (isinstance(word, ast.Constant) and (REPOSITORY / str(word.value)).exists())
    )
