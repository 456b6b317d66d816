"""Named files are found in one order; the first wins, and what it hides is known."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from config_world import CHECKOUT, DRIVERS, MINIMAL, library, write

from vsperf.errors import SpecError
from vsperf.spec.loader import Request, load
from vsperf.spec.lookup import Library
from vsperf.spec.select import select


def case_file(name: str, tags: str = "[]", title: str = "") -> str:
    return MINIMAL.replace("mine", name) + f"tags: {tags}\ntitle: '{title}'\n"


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    return {
        name: write(tmp_path / name, {"testcases/sub/same.yaml": case_file("same", title=name)})
        for name in ("first", "second", "here", "home/vsperf")
    }


def find(places: dict[str, Path], **environ: str) -> Library:
    return Library.find(environ, places["here"])


def test_the_folders_are_searched_in_the_documented_order(places: dict[str, Path]) -> None:
    listed = os.pathsep.join(str(places[name]) for name in ("first", "second"))
    home = str(places["home/vsperf"].parent)
    found = find(places, VSPERF_PATH=listed, XDG_CONFIG_HOME=home)
    assert [(folder.path, folder.role) for folder in found.folders] == [
        (places["first"], "$VSPERF_PATH"),
        (places["second"], "$VSPERF_PATH"),
        (places["here"], "current directory"),
        (places["home/vsperf"], "user"),
        (CHECKOUT, "built-in"),
    ]


def test_the_first_of_a_name_wins_and_knows_what_it_hides(places: dict[str, Path]) -> None:
    entry = find(places, VSPERF_PATH=str(places["second"])).testcases()["same"]
    assert (entry.title, entry.found.folder.role) == ("second", "$VSPERF_PATH")
    assert entry.found.shadowed == (places["here"] / "testcases/sub/same.yaml",)


def test_a_folder_counts_once_however_it_is_written(places: dict[str, Path]) -> None:
    here = str(places["here"])
    listed = os.pathsep.join([here, f"{here}/../here", "."])
    roles = [folder.role for folder in find(places, VSPERF_PATH=listed).folders]
    assert roles == ["$VSPERF_PATH", "built-in"]


def test_the_users_folder_is_in_the_home_directory_by_default(tmp_path: Path) -> None:
    write(tmp_path, {"home/.config/vsperf/conf/presets/mine.yaml": "preset: {name: mine}\n"})
    (tmp_path / "here").mkdir()
    found = Library.find({"HOME": str(tmp_path / "home")}, tmp_path / "here")
    assert [folder.role for folder in found.folders] == ["user", "built-in"]
    assert list(found.presets()) == ["mine", "quick", "rfc2544-strict", "standard", "tst009"]


def test_folders_without_conf_and_testcases_are_left_out(tmp_path: Path) -> None:
    found = Library.find({"VSPERF_PATH": "/nowhere:\0:" + "x" * 5000}, tmp_path)
    assert [folder.role for folder in found.folders] == ["built-in"]


def test_defaults_are_taken_from_the_first_folder_that_has_them(tmp_path: Path) -> None:
    write(tmp_path, {"conf/defaults.yaml": "title: mine\n"})
    assert library(tmp_path, tmp_path).defaults() == tmp_path / "conf/defaults.yaml"
    assert library(tmp_path).defaults() == CHECKOUT / "conf/defaults.yaml"


def test_a_broken_testcase_is_listed_with_its_problem_beside_the_others(tmp_path: Path) -> None:
    write(tmp_path, {"testcases/bad.yaml": "a: [\n", "testcases/good.yaml": case_file("good")})
    found = library(tmp_path, tmp_path).testcases()
    assert [problem.what for problem in found["bad"].problems] == [
        "not valid YAML: a value is missing or misplaced"
    ]
    assert not found["good"].problems
    assert "phy2phy_tput" in found


def test_the_library_of_the_project_has_a_title_for_everything(tmp_path: Path) -> None:
    here = library(tmp_path)
    for entries in (here.testcases(), here.testbeds(), here.presets(), here.topologies()):
        assert entries
        assert all(entry.title and not entry.problems for entry in entries.values())
    assert all(entry.tags for entry in here.testcases().values())


def names(tmp_path: Path, *words: str, tags: tuple[str, ...] = ()) -> list[str]:
    write(
        tmp_path,
        {
            f"testcases/{name}.yaml": case_file(name, labels)
            for name, labels in (
                ("pvp_tput", "[rfc2544, vm]"),
                ("pvp_cont", "[vm]"),
                ("p2p_tput", "[rfc2544]"),
            )
        },
    )
    here = Library(library(tmp_path, tmp_path).folders[:1], tmp_path)
    return [found.name for found in select(words, here, tags)]


def test_testcases_are_named_by_name_pattern_tag_or_file(tmp_path: Path) -> None:
    assert names(tmp_path, "pvp_tput") == ["pvp_tput"]
    assert names(tmp_path, "pvp_*") == ["pvp_cont", "pvp_tput"]
    assert names(tmp_path, "tag:rfc2544") == ["p2p_tput", "pvp_tput"]
    assert names(tmp_path, "./testcases/pvp_tput.yaml") == ["pvp_tput"]


def test_each_testcase_is_taken_once_in_the_order_asked_for(tmp_path: Path) -> None:
    assert names(tmp_path, "pvp_tput", "*") == ["pvp_tput", "p2p_tput", "pvp_cont"]


def test_tags_narrow_down_to_what_carries_all_of_them(tmp_path: Path) -> None:
    assert names(tmp_path, tags=("vm",)) == ["pvp_cont", "pvp_tput"]
    assert names(tmp_path, tags=("vm", "rfc2544")) == ["pvp_tput"]
    assert names(tmp_path, "p*_tput", tags=("vm",)) == ["pvp_tput"]


@pytest.mark.parametrize(
    ("words", "what", "fix"),
    [
        (("pvp_tptu",), "there is no testcase 'pvp_tptu'", "did you mean `pvp_tput`?"),
        (
            ("x*",),
            "no testcase matches 'x*'",
            "testcases: p2p_tput, pvp_cont, pvp_tput",
        ),
        (("tag:rfc",), "no testcase carries the tag 'rfc'", "did you mean `rfc2544`?"),
        ((), "no testcase was named", "`vsperf list` shows them all: p2p_tput, pvp_cont, pvp_tput"),
    ],
)
def test_what_matches_nothing_is_answered_with_what_there_is(
    tmp_path: Path, words: tuple[str, ...], what: str, fix: str
) -> None:
    with pytest.raises(SpecError) as caught:
        names(tmp_path, *words)
    assert [(problem.what, problem.fix) for problem in caught.value.problems] == [(what, fix)]


def test_two_files_of_one_name_in_a_folder_are_an_error_once_they_are_used(tmp_path: Path) -> None:
    text = case_file("twin")
    write(tmp_path, {"testcases/a/twin.yaml": text, "testcases/b/twin.yaml": text})
    with pytest.raises(SpecError) as caught:
        load(Request(("twin",), testbed="sim"), library(tmp_path, tmp_path), DRIVERS)
    (problem,) = caught.value.problems
    assert problem.what == "the testcase twin exists twice in one folder"
    assert problem.why == "testcases/a/twin.yaml, testcases/b/twin.yaml"
