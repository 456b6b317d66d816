"""C files: no two need each other (what a file calls lies below it), and each names its owner.

So do the files that say how they are built.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from all_wrong import none_wrong, relative
from conftest import Require

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "tgen"
MEMORY_LOAD = REPOSITORY / "tools" / "memory-load"
AGENT = REPOSITORY / "vnfs" / "agent"
PARTS = ("tgen.p", "libtgen-engine.a.p", "libtgen-pure.a.p", "libtgen-session.a.p")
SOME_OF_EACH = (
    "main",
    "control_control",
    "control_session",
    "engine_loop",
    "engine_receive",
    "engine_transmit",
    "engine_worker",
    "frames_flow",
)
"""A part that is called otherwise one day must not go unseen."""


@pytest.mark.needs("tgen")
def test_the_files_of_tgen_need_each_other_in_one_direction() -> None:
    objects = [path for part in PARTS for path in (BUILD / part).glob("*.o")]
    needed = needs(objects)
    assert needed.keys() >= {f"src_{name}" for name in SOME_OF_EACH}
    assert in_cycles(needed) == set()


def test_the_files_of_the_agent_need_each_other_in_one_direction(
    tmp_path: Path, require: Require
) -> None:
    require("tgen")  # and so a compiler
    sources = sorted(AGENT.glob("*.c"))
    argv = ["gcc", "-std=c11", "-D_DEFAULT_SOURCE", "-O0", "-c"]
    subprocess.run([*argv, *map(str, sources)], cwd=tmp_path, check=True)
    assert in_cycles(needs(tmp_path.glob("*.o"))) == set()


def needs(objects: Iterable[Path]) -> dict[str, set[str]]:
    """Return which other objects each one takes functions or data from."""
    given: dict[str, str] = {}
    wanted: dict[str, set[str]] = {}
    for path in objects:
        name = path.name.split(".")[0]
        wanted[name] = set()
        said = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True)
        for line in said.stdout.splitlines():
            *_, kind, symbol = line.split()
            if kind == "U":
                wanted[name].add(symbol)
            elif kind.isupper():
                given[symbol] = name
    return {
        name: {given[symbol] for symbol in symbols if symbol in given} - {name}
        for name, symbols in wanted.items()
    }


def in_cycles(needed: dict[str, set[str]]) -> set[str]:
    """Return what is left when all that needs nothing, and all that nothing needs, is taken out."""
    left = {name: set(others) for name, others in needed.items()}
    while True:
        wanted = set().union(*left.values())
        free = {name for name, others in left.items() if not others or name not in wanted}
        if not free:
            return set(left)
        left = {name: others - free for name, others in left.items() if name not in free}


def test_every_file_says_whose_it_is_and_under_which_licence() -> None:
    first, second = "SPDX-License-Identifier: Apache-2.0", "Copyright(c) 2026 The vsperf authors"
    heads = {"*.[ch]": f"/* {first}\n * {second}\n */\n", "meson*": f"# {first}\n# {second}\n"}
    least = {"*.[ch]": 80, "meson*": 5}
    folders = (REPOSITORY / "tools" / "tgen", MEMORY_LOAD, AGENT)
    files = {names: [path for folder in folders for path in folder.rglob(names)] for names in heads}
    assert all(len(files[names]) >= least[names] for names in heads)
    none_wrong(
        f"{relative(path)}:1: its head is another one"
        for names, head in heads.items()
        for path in files[names]
        if not path.read_text().startswith(head)
    )
