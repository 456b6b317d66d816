"""Root in a folder of somebody else's: what lies there decides nothing, and is written to nowhere.

Another user has made the files, or can change them.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attacker import NOBODY, Town, as_nobody, give, town
from cli_shell import SMOKE, Shell, fixture_vsperf
from forged_index import change, seal

from vsperf.errors import ExitCode
from vsperf.host.cache import read_found, write_found
from vsperf.store.folders import RECORDS, run_folders
from vsperf.store.index import INDEX
from vsperf.store.leftovers import leftovers

pytestmark = pytest.mark.everyday

__all__ = ["fixture_vsperf"]

REPOSITORY = Path(__file__).resolve().parents[2]
PLAN = ("plan", "phy2phy_smoke", "--testbed", "sim")
TESTBED = Path("conf/testbeds/sim.yaml")
FILES = {
    TESTBED: (REPOSITORY / TESTBED).read_text(),
    Path("conf/defaults.yaml"): (REPOSITORY / "conf/defaults.yaml").read_text(),
    Path("conf/presets/quick.yaml"): (REPOSITORY / "conf/presets/quick.yaml").read_text(),
    Path("conf/topologies/p2p.yaml"): (REPOSITORY / "conf/topologies/p2p.yaml").read_text(),
    Path("testcases/phy2phy_smoke.yaml"): (
        REPOSITORY / "testcases/phy2phy/phy2phy_smoke.yaml"
    ).read_text(),
    Path("testcases/any.suite.yaml"): (
        "testcases: {phy2phy_smoke: {topology: p2p, traffic: {frame_size: 64}}}\n"
    ),
}


@pytest.fixture(name="here")
def fixture_here(
    vsperf: Shell, require: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Town]:
    """Give a town to a root who stands in its /tmp."""
    require("root")
    monkeypatch.delenv("SUDO_UID", raising=False)
    with town() as made:
        monkeypatch.chdir(made.tmp)
        yield made


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize("name", FILES, ids=str)
def test_a_file_of_another_user_does_not_decide_what_root_does(
    vsperf: Shell, here: Town, name: Path
) -> None:
    as_nobody(lambda: put(here.tmp / name, FILES[name]))
    refused = vsperf(*PLAN, "--preset", "quick")
    assert refused.code == ExitCode.BAD_INPUT
    assert "another user can decide what this file says, and so what root does" in refused.err
    assert f"at: {name}\n" in refused.err
    assert f"{here.tmp / name.parts[0]} belongs to nobody" in refused.err
    assert "--allow-foreign" in refused.err
    assert vsperf(*PLAN, "--preset", "quick", "--allow-foreign").code == ExitCode.OK


@pytest.mark.parametrize("words", [("--conf", "mine.yaml"), ("./mine.yaml",)])
def test_a_file_that_was_named_does_not_decide_either(
    vsperf: Shell, here: Town, words: tuple[str, ...]
) -> None:
    as_nobody(lambda: put(here.tmp / "mine.yaml", "traffic: {frame_size: 64B}\n"))
    refused = vsperf("plan", "--testbed", "sim", "phy2phy_smoke", *words)
    assert refused.code == ExitCode.BAD_INPUT
    assert "at: mine.yaml\n" in refused.err
    assert "another user can decide what this file says" in refused.err


def test_a_file_that_decides_nothing_is_no_obstacle(vsperf: Shell, here: Town) -> None:
    as_nobody(lambda: put(here.tmp / "conf/testbeds/mine.yaml", "nonsense"))
    assert vsperf(*PLAN).code == ExitCode.OK


@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_a_file_of_roots_that_others_can_write_to_does_not_decide(
    vsperf: Shell, here: Town, mode: int
) -> None:
    put(here.tmp / TESTBED, FILES[TESTBED])
    assert vsperf(*PLAN).code == ExitCode.OK
    (here.tmp / TESTBED).chmod(mode)
    refused = vsperf(*PLAN)
    assert refused.code == ExitCode.BAD_INPUT
    assert f"can be written to by others (mode {mode:04o})" in refused.err


def test_a_file_in_a_folder_that_others_can_write_to_does_not_decide(
    vsperf: Shell, here: Town
) -> None:
    put(here.tmp / TESTBED, FILES[TESTBED])
    (here.tmp / "conf").chmod(0o777)
    assert vsperf(*PLAN).code == ExitCode.BAD_INPUT


def test_a_link_of_another_user_to_a_file_of_roots_does_not_decide(
    vsperf: Shell, here: Town
) -> None:
    (here.tmp / "conf/testbeds").mkdir(parents=True)
    (here.tmp / "conf/testbeds").chmod(0o1777)
    put(here.run / "sim.yaml", FILES[TESTBED])
    as_nobody(lambda: (here.tmp / TESTBED).symlink_to(here.run / "sim.yaml"))
    refused = vsperf(*PLAN)
    assert refused.code == ExitCode.BAD_INPUT
    assert "is a link of nobody" in refused.err


def test_the_user_who_called_sudo_may_decide(
    vsperf: Shell, here: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_nobody(lambda: put(here.tmp / TESTBED, FILES[TESTBED]))
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    assert vsperf(*PLAN).code == ExitCode.OK


def test_list_and_plan_say_in_one_line_that_something_built_in_is_hidden(
    vsperf: Shell, here: Town
) -> None:
    line = f"! hides what is built in: testbeds/sim, by {TESTBED}\n"
    for words in (("list", "testbeds"), PLAN):
        assert "hides what is built in" not in vsperf(*words).out
    put(here.tmp / TESTBED, FILES[TESTBED])
    for words in (("list", "testbeds"), PLAN):
        assert line in vsperf(*words).out
    assert "hides what is built in" not in vsperf("list", "presets").out


def interrupted(vsperf: Shell, results: Path, torn: str = "") -> Path:
    """Return the folder of a run without its end."""
    assert vsperf(*SMOKE, "--results", str(results)).code == ExitCode.OK
    (folder,) = run_folders(results)
    lines = (folder / RECORDS).read_text().splitlines(keepends=True)
    (folder / RECORDS).write_text("".join(lines[:2]) + torn)
    return folder


def test_records_of_another_user_are_not_resumed(vsperf: Shell, here: Town) -> None:
    folder = interrupted(vsperf, here.tmp / "results")
    give(here.tmp / "results")
    refused = vsperf("run", "--resume", "latest", "--results", str(here.tmp / "results"))
    assert refused.code == ExitCode.BAD_INPUT
    assert f"another user can decide what {folder / RECORDS} says" in refused.err
    again = ("run", "--resume", "latest", "--results", str(here.tmp / "results"))
    assert vsperf(*again, "--allow-foreign").code == ExitCode.OK


@pytest.mark.parametrize("how", [os.symlink, os.link])
def test_a_torn_line_is_set_aside_in_no_other_file(
    vsperf: Shell, here: Town, how: Callable[[Path, Path], None]
) -> None:
    folder = interrupted(vsperf, here.tmp / "results", torn="nobody::0:0::/:/bin/sh")
    how(here.precious, folder / "torn.jsonl")
    refused = vsperf("run", "--resume", folder.name, "--results", str(here.tmp / "results"))
    assert refused.code == ExitCode.COMPONENT_FAILED
    assert "torn.jsonl is " in refused.err
    assert here.precious.read_text() == "root\n"


def test_records_that_are_a_link_are_not_written_to(vsperf: Shell, here: Town) -> None:
    folder = interrupted(vsperf, here.tmp / "results")
    shutil.move(folder / RECORDS, here.precious)
    before = here.precious.read_text()
    (folder / RECORDS).symlink_to(here.precious)
    refused = vsperf("run", "--resume", folder.name, "--results", str(here.tmp / "results"))
    assert refused.code == ExitCode.BAD_INPUT
    assert here.precious.read_text() == before


def test_a_cache_of_another_user_is_neither_believed_nor_written(here: Town) -> None:
    cache = here.tmp / "cache" / "kvm.json"
    found = {"format": 1, "found": {"key": {"works": True}}}

    def plant() -> None:
        put(cache, json.dumps(found))
        for number in (os.getppid(), os.getpid()):
            cache.with_suffix(f".{number}").symlink_to(here.precious)

    as_nobody(plant)
    assert read_found(cache, 1) == {}
    write_found(cache, 1, {"other": 1})
    assert here.precious.read_text() == "root\n"
    assert json.loads(cache.read_text()) == found


def test_a_link_in_a_cache_of_ones_own_is_not_followed(here: Town) -> None:
    cache = here.run / "cache" / "kvm.json"
    cache.parent.mkdir(mode=0o700)
    for name in ("kvm.json", "kvm.json.new", f"kvm.{os.getpid()}"):
        (cache.parent / name).symlink_to(here.precious)
    write_found(cache, 1, {"key": 1})
    assert here.precious.read_text() == "root\n"
    assert read_found(cache, 1) == {"key": 1}


def test_an_index_of_another_user_is_neither_believed_nor_written(
    vsperf: Shell, here: Town
) -> None:
    results = here.tmp / "results"
    interrupted(vsperf, results)
    listed = ("results", "--cases", "--json", "--results", str(results))
    expected = vsperf(*listed).out
    change(results / INDEX, "UPDATE cases SET label = 'forged'")
    seal(results / INDEX)
    before = (results / INDEX).read_bytes()
    assert "forged" in vsperf(*listed).out, "or nothing is forged"
    give(results)
    assert vsperf(*listed).out == expected
    assert (results / INDEX).read_bytes() == before


def test_no_index_is_written_through_a_link_of_another_user(vsperf: Shell, here: Town) -> None:
    results = here.tmp / "results"
    interrupted(vsperf, results)
    (results / INDEX).unlink(missing_ok=True)
    give(results)
    as_nobody(lambda: (results / INDEX).symlink_to(here.run / "made"))
    assert vsperf("results", "--results", str(results)).code == ExitCode.OK
    assert not (here.run / "made").exists()


def test_a_folder_that_became_a_link_is_not_emptied(here: Town) -> None:
    results = here.tmp / "results"
    stillborn = results / "2026-01-01-phy2phy_smoke-k7f3"
    stillborn.mkdir(parents=True)
    long_ago = time.time() - 3600
    os.utime(stillborn, (long_ago, long_ago))
    (leftover,) = leftovers(results)
    stillborn.rmdir()
    stillborn.symlink_to(here.precious.parent)
    leftover.remove()
    assert here.precious.exists()
    assert not stillborn.is_symlink()
