"""A tree of files: which of its files is meant, what is run in it, and when it is refused."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from assertions import known
from attacker import NOBODY, town
from machine_tree import script
from pydantic import ValidationError
from trees import program_for

from vsperf.config.rooted import RootedSpec
from vsperf.errors import NotReadyError
from vsperf.host.tree import Tree, read_elf

Require = Callable[[str], None]
X86, ARM = 62, 183


@pytest.fixture(name="root")
def fixture_root(tmp_path: Path) -> Path:
    """Give a tree with an install, reached by the links that distributions have."""
    root = tmp_path / "tree"
    script(root / "usr" / "lib" / "ovs" / "daemon")
    (root / "etc" / "alternatives").mkdir(parents=True)
    (root / "sbin").symlink_to("usr/lib")
    return root


def refusal(tree: Tree) -> NotReadyError:
    with pytest.raises(NotReadyError) as caught:
        tree.require()
    return caught.value


def why(error: NotReadyError) -> str:
    return error.problems[0].why or ""


def test_without_a_root_everything_is_the_machines_own() -> None:
    tree = Tree()
    assert tree.command(("/bin/true", "-x"), folders=("/run/x",)) == ("/bin/true", "-x")
    assert tree.path(Path("/bin/sh")) == Path("/bin/sh")
    assert tree.program_of(("/bin/true", "-x")) == "true"
    assert tree.facts() == {}
    tree.require()
    tree.require_program(Path("/nowhere"))


def test_a_command_says_all_that_is_done_so_that_it_can_be_run_by_hand() -> None:
    tree = Tree(Path("/srv/trixie"))
    command = tree.command(("/usr/sbin/x", "-v"), folders=("/run/a",), devices=("net/tun",))
    python, *words = command
    assert python == sys.executable
    assert words[:2] == ["-I", "-S"]
    assert Path(words[2]).is_file()
    assert words[3:] == [
        *("/srv/trixie", "--folder=/run/a", "--device=net/tun"),
        *("--", "/usr/sbin/x", "-v"),
    ]
    assert tree.program_of(command) == "x"


def test_links_are_followed_as_a_program_in_the_tree_sees_them(root: Path) -> None:
    tree, daemon = Tree(root), root / "usr" / "lib" / "ovs" / "daemon"
    (root / "usr" / "bin").symlink_to("/sbin/ovs/../ovs")
    (root / "etc" / "alternatives" / "it").symlink_to("../../../../../usr/bin/daemon")
    assert tree.path(Path("/sbin/ovs/daemon")) == daemon
    assert tree.path(Path("/usr/bin/daemon")) == daemon
    assert tree.path(Path("/etc/alternatives/it")) == daemon
    assert tree.path(Path("/etc/nothing")) == root / "etc" / "nothing"
    assert tree.runs(Path("/usr/bin/daemon"))
    assert not tree.runs(Path("/usr/bin/nothing"))


def test_a_link_never_leads_out_of_the_tree(root: Path) -> None:
    (root / "etc" / "passwd").symlink_to("/etc/shadow")
    assert Tree(root).path(Path("/etc/passwd")) == root / "etc" / "shadow"
    assert Tree(root).path(Path("/../../etc")) == root / "etc"


def test_links_in_a_ring_lead_nowhere(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert not Tree(root).runs(Path("/a"))


@pytest.mark.parametrize("root", ["trixie", "../trixie", "/srv/../trixie", "/", "//", ""])
def test_a_root_is_a_whole_path_and_not_the_machine(root: str) -> None:
    with pytest.raises(ValidationError, match=r"root"):
        RootedSpec(kind="any", root=root)


def test_a_root_is_taken_as_it_is_meant() -> None:
    spec = RootedSpec(kind="any", root="/srv/trixie/")
    assert Tree.of(spec, "vnf") == Tree(Path("/srv/trixie"), foreign=False, setting="vnf")
    assert Tree.of(RootedSpec(kind="any")) == Tree()


def test_a_tree_that_is_not_there_is_refused_with_the_setting_that_names_it(tmp_path: Path) -> None:
    error = refusal(Tree(tmp_path / "gone", setting="vnf"))
    assert "there is no tree" in str(error)
    assert why(error) == f"vnf.root names {tmp_path / 'gone'}"


def test_only_root_runs_programs_in_a_tree(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "only root" in str(refusal(Tree(root)))


def owned(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def writable(path: Path) -> None:
    path.chmod(0o777)


@pytest.mark.parametrize("change", [owned, writable])
@pytest.mark.parametrize("name", ["", "usr", "usr/lib/ovs", "usr/lib/ovs/daemon"])
def test_a_tree_that_others_own_or_can_write_to_is_refused_unless_that_is_allowed(
    name: str, change: Callable[[Path], None], require: Require
) -> None:
    require("root")
    with town() as here:
        root = here.run / "tree"
        (root / "usr" / "lib" / "ovs").mkdir(parents=True)
        (root / "usr" / "lib" / "ovs" / "daemon").touch(mode=0o755)
        Tree(root).require()
        change(root / name)
        error = refusal(Tree(root))
        assert str(root / name) in why(error)
        assert "vswitch.foreign_root=true" in (error.problems[0].fix or "")
        Tree(root, foreign=True).require()


@pytest.mark.needs("root")
def test_a_link_of_another_user_in_a_tree_is_refused() -> None:
    with town() as here:
        root = here.run / "tree"
        root.mkdir()
        (root / "lib").symlink_to("/tmp/lib")
        owned(root / "lib")
        assert "is a link of" in why(refusal(Tree(root)))


def test_others_may_have_something_where_no_program_is_loaded_from(require: Require) -> None:
    require("root")
    with town() as here:
        root = here.run / "tree"
        for name in ("var/mail", "tmp", "home/somebody"):
            (root / name).mkdir(parents=True)
            owned(root / name)
            writable(root / name)
        Tree(root).require()


@pytest.mark.needs("root")
def test_a_tree_in_a_folder_that_others_write_to_is_refused() -> None:
    with town() as here:
        (here.folder / "open").mkdir()
        (here.folder / "open" / "tree").mkdir()
        writable(here.folder / "open")
        assert "can be written to by others" in why(refusal(Tree(here.folder / "open" / "tree")))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("little", [True, False])
def test_the_head_of_a_program_says_its_processor_and_its_linker(
    bits: int, little: bool, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_bytes(program_for(ARM, bits=bits, little=little, linker="/lib/ld.so"))
    elf = known(read_elf(program))
    assert (elf.bits, elf.little, elf.family, elf.interpreter) == (bits, little, ARM, "/lib/ld.so")
    assert elf.processor.startswith(f"aarch64, {bits} bits")


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\n" + b"x" * 100])
def test_what_is_no_program_has_no_head(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(content)
    assert read_elf(tmp_path / "script") is None


def test_a_damaged_head_is_read_to_no_harm(tmp_path: Path) -> None:
    whole = program_for(X86, linker="/lib/ld.so")
    for place in range(16, 64):
        (tmp_path / "damaged").write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        read_elf(tmp_path / "damaged")


def test_this_programs_own_head_can_be_read() -> None:
    elf = known(read_elf(Path(sys.executable)))
    assert elf.runs_where(elf)


def test_a_program_for_another_processor_is_refused_by_both_names(root: Path) -> None:
    own = known(read_elf(Path(sys.executable)))
    (root / "other").write_bytes(program_for(X86 if own.family == ARM else ARM))
    with pytest.raises(NotReadyError, match="for another processor") as caught:
        Tree(root).require_program(Path("/other"))
    assert own.processor in why(caught.value)


def test_a_program_whose_linker_the_tree_has_not_is_refused_by_its_name(root: Path) -> None:
    own = known(read_elf(Path(sys.executable)))
    head = program_for(own.family, bits=own.bits, little=own.little, linker="/lib/ld-own.so")
    (root / "program").write_bytes(head)
    with pytest.raises(NotReadyError, match="cannot be loaded") as caught:
        Tree(root).require_program(Path("/program"))
    assert "/lib/ld-own.so" in why(caught.value)
    (root / "lib").symlink_to("/usr/lib")
    (root / "usr" / "lib" / "ld-own.so").touch()
    Tree(root).require_program(Path("/program"))


def test_a_tree_is_called_as_its_release_calls_itself(root: Path) -> None:
    (root / "usr" / "lib" / "os-release").write_text('ID=x\nPRETTY_NAME="Debian 13 (trixie)"\n')
    assert Tree(root).facts()["system"] is None
    (root / "etc" / "os-release").symlink_to("/usr/lib/os-release")
    facts = Tree(root).facts()
    assert (facts["root"], facts["system"]) == (str(root), "Debian 13 (trixie)")
