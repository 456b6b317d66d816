"""No stranger's folder decides what Python of ours runs: there is one way to start it."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from all_wrong import none_wrong

from vsperf import own_python

TRAP = "import os\nos.write(2, b'a trap was run\\n')\nos._exit(99)\n"
ALLOWED = {
    "vsperf/own_python.py": "the one way",
    "vsperf/host/doctor/installation.py": "a check of that name",
    "tools/repeat-tests": "pytest, in the checkout whose tests these are",
}
INTERPRETER = re.compile(r"(.*/)?python3?(\.\d+)?")
UNSAFE = re.compile(r"python[0-9.]*\"? +-(?![IVh])\S")
"""In scripts and pages: an interpreter with options of which the first is not `-I`."""
IN_A_CHECKOUT = re.compile(r"python\)? -m (ruff|mypy|pytest)\b")
"""What the Makefile and contributors run in the checkout, which is theirs."""


@pytest.fixture(name="trapped")
def fixture_trapped(tmp_path: Path) -> Path:
    """Give a folder whose owner would like to be run."""
    (tmp_path / "vsperf").mkdir()
    for name in ("json.py", "sitecustomize.py", "runpy.py", "vsperf/__init__.py"):
        (tmp_path / name).write_text(TRAP)
    return tmp_path


def run_in(folder: Path, *argv: str) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, "PYTHONPATH": str(folder), "PYTHONSTARTUP": str(folder / "json.py")}
    return subprocess.run(
        argv, cwd=folder, env=environ, check=False, capture_output=True, text=True, timeout=60
    )


def test_a_module_is_ours_whatever_lies_in_the_working_directory(trapped: Path) -> None:
    assert run_in(trapped, sys.executable, "-m", "vsperf", "--version").returncode == 99
    ended = run_in(trapped, *own_python.module("vsperf", "--version"))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("vsperf")


def test_a_script_of_the_standard_library_is_ours_too(trapped: Path, tmp_path: Path) -> None:
    (file := tmp_path / "ours.txt").write_text("import json, sys; print(json.dumps(sys.argv[1:]))")
    ended = run_in(trapped, *own_python.script(file, "a", "-b"))
    assert (ended.returncode, json.loads(ended.stdout)) == (0, ["a", "-b"])


def test_the_vsperf_that_runs_is_the_one_that_is_started(tmp_path: Path) -> None:
    (package := tmp_path / "vsperf").mkdir()
    (package / "__init__.py").touch()
    (copy := package / "own_python.py").write_text(Path(own_python.__file__).read_text())
    (package / "says.py").write_text("import sys; print(__name__, sys.argv)")
    spec = spec_from_file_location("copied", copy)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(copied := module_from_spec(spec))
    ended = subprocess.run(
        copied.module("vsperf.says", "a b"), capture_output=True, text=True, check=False
    )
    assert ended.stdout == f"__main__ {[str(package / 'says.py'), 'a b']}\n", ended.stderr


def starts(text: str) -> Iterator[int]:
    """Yield the lines that name an interpreter where a command is made; words of f-strings tell."""
    tree = ast.parse(text)
    told = {
        id(one)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for one in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in told:
            continue
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable":
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "sys":
            yield from (node.lineno for name in node.names if name.name == "executable")
        elif isinstance(node, (ast.List, ast.Tuple, ast.Call, ast.BinOp)):
            yield from (
                one.lineno
                for one in ast.iter_child_nodes(node)
                if isinstance(one, ast.Constant)
                and isinstance(one.value, str)
                and INTERPRETER.fullmatch(one.value)
            )


def programs(repository: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of all that is Python, but for the tests."""
    for part in ("vsperf", "tools", "vnfs", "setup.py", "docs"):
        for path in sorted([repository / part, *(repository / part).rglob("*")]):
            if not path.is_file() or path.stat().st_size > 1 << 20:
                continue
            name = str(path.relative_to(repository))
            if path.suffix == ".ipynb":
                cells = json.loads(path.read_text())["cells"]
                code = ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]
                yield name, "\n".join(code)
            elif path.suffix == ".py" or (
                not path.suffix and path.read_bytes().startswith(b"#!/usr/bin/env python3")
            ):
                yield name, path.read_text()


def test_nothing_starts_python_but_by_the_one_way(repository: Path) -> None:
    looked_at = dict(programs(repository))
    assert {"vsperf/host/tree.py", "tools/soak", "docs/notebooks/first-look.ipynb"} < {*looked_at}
    found = {name: list(starts(text)) for name, text in looked_at.items()}
    none_wrong(
        f"{name}:{line} starts Python itself, and vsperf.own_python says how"
        for name, lines in found.items()
        for line in lines
        if name not in ALLOWED
    )
    assert all(found[name] for name in ALLOWED), "a reason that is needed no more"


@pytest.mark.parametrize(
    "text",
    [
        "run([sys.executable, '-m', 'x'])",
        "from sys import executable",
        "run(['python3', '-c', 'x'])",
        "run('/usr/bin/python3.12')",
        "PYTHON = FOLDER / 'python'",
    ],
)
def test_each_way_to_start_python_is_found(text: str) -> None:
    assert list(starts(text)) == [1]


def test_what_tells_of_python_is_no_start() -> None:
    assert not list(starts("ok(f'{platform.python_version()} at {sys.executable}')"))
    assert not list(starts("FACTS = {'python': platform.python_version()}"))


def test_scripts_and_pages_start_python_where_no_folder_decides(repository: Path) -> None:
    pages = [
        *sorted((repository / "docs").rglob("*.md")),
        *sorted(path for path in (repository / "docs" / "ci").iterdir() if path.is_file()),
        *(repository / name for name in ("README.md", "Makefile", ".ci/run", "tools/bootstrap")),
        repository / "tools" / "fresh-machine",
    ]
    none_wrong(
        f"{path.relative_to(repository)}:{number} {line.strip()}"
        for path in pages
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if UNSAFE.search(IN_A_CHECKOUT.sub("", line))
    )
