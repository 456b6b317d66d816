"""A suite holds several testcases in one file; each is found, chosen and told of like any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from config_world import CHECKOUT, DRIVERS, MINIMAL, library, problems, shown, write

from vsperf.config.case import Case
from vsperf.config.loader import Request, load
from vsperf.config.lookup import Folder, Library
from vsperf.config.select import select
from vsperf.methods.fixed import FixedLoad
from vsperf.quantities.units import Duration, Rate

SUITE = """\
title: Small and large
tags: [shared]
topology: p2p
traffic: {frame_size: 64, flows: 4}
testcases:
  small: {}
  large:
    title: Large frames
    tags: [big, shared]
    traffic: {frame_size: 1518}
"""


def place(folder: Path, **suites: str) -> Library:
    """Return a library of suites by name, and of nothing else but the project's `conf`."""
    write(folder, {f"testcases/sub/{name}.suite.yaml": text for name, text in suites.items()})
    conf = folder / "the-project"
    if not conf.exists():
        conf.mkdir(parents=True)
        (conf / "conf").symlink_to(CHECKOUT / "conf")
    return Library((Folder(folder, "$VSPERF_PATH"), Folder(conf, "built-in")), folder)


def chosen(here: Library, *words: str, tags: tuple[str, ...] = ()) -> list[str]:
    return [found.name for found in select(words, here, tags)]


def cases(here: Library, *names: str) -> tuple[Case, ...]:
    return load(Request(names, testbed="sim"), here, DRIVERS).cases


def told(here: Library, *names: str) -> list[str]:
    return [shown(problem) for problem in problems(here, Request(names, testbed="sim"))]


def test_each_entry_is_a_testcase_over_what_the_top_of_the_file_says(tmp_path: Path) -> None:
    small, large = cases(place(tmp_path, sizes=SUITE), "small", "large")
    assert (small.spec.name, large.spec.name) == ("small", "large")
    assert [str(case.spec.traffic.frame_size) for case in (small, large)] == ["64B", "1518B"]
    assert {case.spec.traffic.flows.value for case in (small, large)} == {4}


def test_title_and_description_of_the_top_are_for_those_without_their_own(tmp_path: Path) -> None:
    suite = "description: for all\n" + SUITE
    small, large = cases(place(tmp_path, sizes=suite), "small", "large")
    assert (small.spec.title, large.spec.title) == ("Small and large", "Large frames")
    assert {case.spec.description for case in (small, large)} == {"for all"}


def test_tags_of_an_entry_are_added_to_those_of_the_top_each_once(tmp_path: Path) -> None:
    small, large = cases(place(tmp_path, sizes=SUITE), "small", "large")
    assert (small.spec.tags, large.spec.tags) == (("shared",), ("shared", "big"))


def test_values_name_the_line_of_the_suite_that_says_them(tmp_path: Path) -> None:
    (large,) = cases(place(tmp_path, sizes=SUITE), "large")
    assert large.origins["name"] == "sizes.suite.yaml:7"
    assert large.origins["title"] == "sizes.suite.yaml:8"
    assert large.origins["traffic.flows"] == "sizes.suite.yaml:4"
    assert large.origins["traffic.frame_size"] == "sizes.suite.yaml:10"


def test_it_measures_what_the_same_testcase_in_a_file_of_its_own_would(tmp_path: Path) -> None:
    (large,) = cases(place(tmp_path / "suite", sizes=SUITE), "large")
    alone = place(tmp_path / "alone")
    text = "name: large\ntopology: p2p\ntraffic: {frame_size: 1518, flows: 4}\n"
    write(tmp_path / "alone", {"testcases/large.yaml": text})
    assert cases(alone, "large")[0].id == large.id


def test_a_method_named_by_an_entry_takes_what_the_top_asks_of_any_method(tmp_path: Path) -> None:
    suite = MINIMAL.replace("name: mine\n", "latency: null\n") + (
        "search: {duration: 3s}\ntestcases:\n  mine: {search: {kind: fixed, loads: [10%]}}\n"
    )
    (mine,) = cases(place(tmp_path, one=suite), "mine")
    assert mine.spec.search == FixedLoad(
        kind="fixed", loads=(Rate.parse("10%"),), duration=Duration.parse("3s")
    )


def test_expectations_of_the_top_may_be_for_sizes_that_an_entry_leaves_out(tmp_path: Path) -> None:
    suite = SUITE.replace("frame_size: 64,", "frame_size: [64, 128],") + (
        "expect: [{metric: ndr, min: 1kfps, frame_size: 128}]\n"
    )
    small, _, large = cases(place(tmp_path, sizes=suite), "small", "large")
    assert (len(small.spec.expect), len(large.spec.expect)) == (0, 0)


def test_testcases_of_a_suite_are_listed_beside_others(tmp_path: Path) -> None:
    here = place(tmp_path, sizes=SUITE)
    write(tmp_path, {"testcases/mine.yaml": MINIMAL + "title: My own\n"})
    assert [(e.name, e.title, e.tags, e.path.name) for e in here.testcases().values()] == [
        ("large", "Large frames", ("shared", "big"), "sizes.suite.yaml"),
        ("mine", "My own", (), "mine.yaml"),
        ("small", "Small and large", ("shared",), "sizes.suite.yaml"),
    ]


def test_they_are_named_by_name_pattern_tag_or_file(tmp_path: Path) -> None:
    here = place(tmp_path, sizes=SUITE)
    assert chosen(here, "small") == ["small"]
    assert chosen(here, "*l*") == ["large", "small"]
    assert chosen(here, "tag:big") == ["large"]
    assert chosen(here, tags=("shared", "big")) == ["large"]
    assert chosen(here, "./testcases/sub/sizes.suite.yaml") == ["small", "large"]
    assert chosen(here, "testcases/sub/sizes.suite.yaml", tags=("big",)) == ["large"]
    assert chosen(here, "large", "*") == ["large", "small"]


def test_a_suite_anywhere_is_run_by_its_path(tmp_path: Path) -> None:
    here = place(tmp_path)
    write(tmp_path, {"elsewhere/sizes.suite.yml": SUITE})
    found = cases(here, "elsewhere/sizes.suite.yml")
    assert [case.spec.name for case in found] == ["small", "large"]
    assert not here.testcases()


def test_the_first_folder_that_has_a_name_wins_whatever_files_hold_it(tmp_path: Path) -> None:
    first = write(tmp_path / "first", {"testcases/small.yaml": MINIMAL.replace("mine", "small")})
    second = write(tmp_path / "second", {"testcases/sizes.suite.yaml": SUITE})
    found = library(tmp_path, first, second).files("testcases")
    assert found["small"].path == first / "testcases/small.yaml"
    assert found["small"].shadowed == (second / "testcases/sizes.suite.yaml",)
    assert found["large"].path == second / "testcases/sizes.suite.yaml"
    found = library(tmp_path, second, first).files("testcases")
    assert found["small"].path == second / "testcases/sizes.suite.yaml"
    assert found["small"].shadowed == (first / "testcases/small.yaml",)


def test_a_name_twice_in_one_folder_is_an_error_once_it_is_used(tmp_path: Path) -> None:
    here = place(tmp_path, a=SUITE, b=SUITE.replace("large:", "huge:"))
    assert [case.spec.name for case in cases(here, "huge", "large")] == ["huge", "large"]
    assert told(here, "small") == [
        "the testcase small exists twice in one folder\n"
        "  why: testcases/sub/a.suite.yaml, testcases/sub/b.suite.yaml\n"
        "  fix: rename one of them, or name the file that is meant by its path"
    ]
    write(tmp_path, {"testcases/large.yaml": MINIMAL.replace("mine", "large")})
    assert "large.yaml, testcases/sub/a.suite.yaml" in told(place(tmp_path), "large")[0]


def test_two_suites_of_one_run_do_not_hold_the_same_name(tmp_path: Path) -> None:
    here = place(tmp_path, a=SUITE, b=SUITE)
    both = told(here, "./testcases/sub/a.suite.yaml", "./testcases/sub/b.suite.yaml")
    assert [line.splitlines()[0] for line in both] == [
        "two testcases of one run are called small",
        "two testcases of one run are called large",
    ]


def test_all_of_a_suite_may_extend_a_testcase(tmp_path: Path) -> None:
    base = "name: base\ntopology: p2p\ntraffic: {frame_size: 64, flows: 7}\ntags: [based]\n"
    suite = "extends: base\ntraffic: {frame_size: 128}\ntestcases: {a: {}, b: {extends: other}}\n"
    here = place(tmp_path, one=suite)
    other = base.replace("name: base", "name: other").replace("flows: 7", "flows: 8")
    write(tmp_path, {"testcases/base.yaml": base, "testcases/other.yaml": other})
    a, b = cases(here, "a", "b")
    assert (a.spec.traffic.flows.value, b.spec.traffic.flows.value) == (7, 8)
    assert {str(case.spec.traffic.frame_size) for case in (a, b)} == {"128B"}
    assert (a.spec.tags, a.origins["traffic.flows"]) == ((), "base.yaml:3")


def test_an_entry_may_extend_another_whose_values_win_over_the_top(tmp_path: Path) -> None:
    suite = SUITE + "  larger:\n    extends: large\n    traffic: {flows: 5}\n"
    (larger,) = cases(place(tmp_path, sizes=suite), "larger")
    assert (str(larger.spec.traffic.frame_size), larger.spec.traffic.flows.value) == ("1518B", 5)
    assert (larger.spec.title, larger.spec.tags) == ("Small and large", ("shared",))
    assert larger.origins["traffic.frame_size"] == "sizes.suite.yaml:10"


def test_an_entry_means_its_own_suite_first_wherever_that_lies(tmp_path: Path) -> None:
    suite = SUITE + "  larger: {extends: large}\n"
    here = place(tmp_path)
    elsewhere = MINIMAL.replace("mine", "large").replace("64", "256")
    write(tmp_path, {"testcases/large.yaml": elsewhere, "any.suite.yaml": suite})
    found = cases(here, "./any.suite.yaml")
    sizes = {case.spec.name: str(case.spec.traffic.frame_size) for case in found}
    assert sizes == {"small": "64B", "large": "1518B", "larger": "1518B"}


def test_a_testcase_of_a_file_may_extend_one_of_a_suite(tmp_path: Path) -> None:
    here = place(tmp_path, sizes=SUITE)
    write(tmp_path, {"testcases/mine.yaml": "name: mine\nextends: large\ntraffic: {flows: 5}\n"})
    (mine,) = cases(here, "mine")
    assert (str(mine.spec.traffic.frame_size), mine.spec.traffic.flows.value) == ("1518B", 5)
    assert (mine.spec.title, mine.spec.tags) == ("", ())
    assert mine.origins["topology.name"] == "sizes.suite.yaml:3"


def test_null_in_an_entry_extends_nothing(tmp_path: Path) -> None:
    suite = SUITE.replace("testcases:", "extends: small\ntestcases:").replace(
        "small: {}", "small: {extends: null}"
    )
    small, large = cases(place(tmp_path, sizes=suite), "small", "large")
    assert (small.spec.name, large.spec.name) == ("small", "large")


def test_the_choice_at_the_top_counts_and_an_entry_chooses_over_it(tmp_path: Path) -> None:
    suite = SUITE.replace("testcases:", "use: {preset: tst009}\ntestcases:")
    suite = suite.replace("small: {}", "small: {use: {preset: standard}}")
    here = place(tmp_path, sizes=suite)
    for name, preset in (("small", "standard"), ("large", "tst009")):
        assert load(Request((name,), testbed="sim"), here, DRIVERS).preset == preset


def test_names_are_found_without_reading_what_is_no_suite(tmp_path: Path) -> None:
    here = place(tmp_path, sizes=SUITE)
    (tmp_path / "testcases/broken.yaml").mkdir()
    assert list(here.files("testcases")) == ["broken", "large", "small"]


BROKEN = {
    "no yaml": ("testcases: [\n", "bad.suite.yaml:2:1: not valid YAML: a value is missing"),
    "a list": ("[1]\n", "bad.suite.yaml:1:1: a file holds sections such as `traffic:`, not a list"),
    "empty": ("", "bad.suite.yaml: the file is empty"),
    "no testcases": (
        "topology: p2p\n",
        "bad.suite.yaml:1:1: a suite holds `testcases:`, its testcases by name\n"
        "  fix: add it, or rename the file",
    ),
    "mistyped": (
        "topology: p2p\ntestcase: {a: {}}\n",
        "bad.suite.yaml:2:1: a suite holds `testcases:`, its testcases by name\n"
        "  fix: did you mean `testcases`?",
    ),
    "none": (
        "testcases: {}\n",
        "bad.suite.yaml:1:12: `testcases` holds the testcases of the suite by name, and is empty\n"
        "  fix: write `NAME: {title: …}` for each of them",
    ),
    "listed": (
        "testcases: [a, b]\n",
        "bad.suite.yaml:1:12: `testcases` holds the testcases of the suite by name, and is a list\n"
        "  fix: write `NAME: {title: …}` for each of them",
    ),
    "twice": (
        "testcases:\n  a: {}\n  a: {}\n",
        "bad.suite.yaml:3:3: the key 'a' stands here a second time\n"
        "  fix: keep one of the two; the first is at line 2, column 3",
    ),
    "a name": (
        "name: bad\ntestcases: {a: {}}\n",
        "bad.suite.yaml:1:1: `name` cannot stand here\n"
        "  why: the testcases of a suite are called by their keys\n  fix: take it out",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_suite_is_listed_with_its_problem_beside_the_others(
    tmp_path: Path, text: str, message: str
) -> None:
    here = place(tmp_path, bad=text, sizes=SUITE)
    listed = here.testcases()
    assert list(listed) == ["bad.suite", "large", "small"]
    assert shown(listed["bad.suite"].problems[0]).startswith(message)
    assert not listed["small"].problems
    assert cases(here, "small")
    for word in ("./testcases/sub/bad.suite.yaml", "bad.suite", "*"):
        assert told(here, word)[0].startswith(message)


def test_what_is_not_found_may_stand_in_a_suite_that_cannot_be_read(tmp_path: Path) -> None:
    here = place(tmp_path, bad="testcases: [\n")
    write(tmp_path, {"testcases/mine.yaml": "name: mine\nextends: tiny\n"})
    why = "  why: it may stand in testcases/sub/bad.suite.yaml, which cannot be read"
    for word in ("tiny", "tiny*", "tag:tiny", "mine"):
        assert why in told(here, word)[0].splitlines()


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            "bad:",
            "s.suite.yaml:5:7: a testcase of a suite is a mapping, and bad is empty\n"
            "  fix: write what differs from the top of the file, or `{}` where nothing does",
        ),
        (
            "bad: 64",
            "s.suite.yaml:5:8: a testcase of a suite is a mapping, and bad is the number 64\n"
            "  fix: write what differs from the top of the file, or `{}` where nothing does",
        ),
        (
            "bad: {name: good}",
            "s.suite.yaml:5:9: `name` cannot stand here\n"
            "  why: a testcase of a suite is called by its key\n  fix: take it out",
        ),
        (
            "bad: {testcases: {a: {}}}",
            "s.suite.yaml:5:9: `testcases` cannot stand here\n"
            "  fix: a file that holds several testcases is called NAME.suite.yaml",
        ),
        (
            "bad: {traffic: {flow: 1}}",
            "s.suite.yaml:5:19: 'flow' is not known in `traffic`\n  fix: did you mean `flows`?",
        ),
        (
            "bad: {extends: bad}",
            "s.suite.yaml:5:18: testcases extend each other\n  why: bad → bad\n"
            "  fix: let one of them extend another testcase, or none",
        ),
        (
            "bad: {extends: goood}",
            "s.suite.yaml:5:18: there is no testcase 'goood'\n  fix: did you mean `good`?",
        ),
        (
            "bad: {extends: ./testcases/sub/s.suite.yaml}",
            "s.suite.yaml:4:3: there is no testcase 's.suite' in this suite\n"
            "  fix: its testcases: good, bad",
        ),
    ],
    ids=["empty", "number", "name", "nested", "setting", "itself", "unknown", "a suite"],
)
def test_a_broken_entry_is_told_with_its_place_and_the_others_run(
    tmp_path: Path, entry: str, expected: str
) -> None:
    suite = f"topology: p2p\ntraffic: {{frame_size: 64}}\ntestcases:\n  good: {{}}\n  {entry}\n"
    here = place(tmp_path, s=suite)
    assert told(here, "bad") == [expected]
    assert cases(here, "good")
    assert list(here.testcases()) == ["bad", "good"]


def test_a_name_that_none_can_have_is_told_at_its_key(tmp_path: Path) -> None:
    (problem,) = told(place(tmp_path, s=MINIMAL[11:] + "testcases:\n  9 lives: {}\n"), "9 lives")
    assert problem.startswith("s.suite.yaml:4:3: `name`: ")


def test_what_is_wrong_at_the_top_is_told_once_for_all_testcases(tmp_path: Path) -> None:
    suite = SUITE.replace("flows: 4", "flows: many")
    (problem,) = told(place(tmp_path, sizes=suite), "*")
    assert problem.startswith("sizes.suite.yaml:4:34: `traffic.flows`")


def test_only_a_file_with_the_name_of_a_suite_is_one(tmp_path: Path) -> None:
    here = place(tmp_path)
    write(tmp_path, {"testcases/mine.yaml": MINIMAL + "testcases: {a: {}}\n"})
    assert told(here, "mine") == [
        "mine.yaml:4:1: `testcases` cannot stand here\n"
        "  fix: a file that holds several testcases is called NAME.suite.yaml"
    ]


def test_an_entry_that_went_away_while_it_was_chosen_is_missed(tmp_path: Path) -> None:
    here = place(tmp_path, sizes=SUITE)
    assert "large" in here.files("testcases")
    write(tmp_path, {"testcases/sub/sizes.suite.yaml": SUITE.partition("  large")[0]})
    assert told(here, "large") == [
        "sizes.suite.yaml:6:3: there is no testcase 'large' in this suite\n"
        "  fix: its testcases: small"
    ]


def test_a_suite_of_another_user_decides_nothing_for_root(tmp_path: Path) -> None:
    anybody = place(tmp_path, sizes=SUITE)
    (tmp_path / "testcases/sub/sizes.suite.yaml").chmod(0o666)
    users = frozenset({0, tmp_path.stat().st_uid})
    careful = Library(anybody.folders, anybody.cwd, users)
    assert cases(anybody, "small")
    assert list(careful.testcases()) == ["large", "small"]
    for words in (("small",), ("*",), ("./testcases/sub/sizes.suite.yaml",)):
        (problem,) = problems(careful, Request(words, testbed="sim"))
        assert problem.what == "another user can decide what this file says, and so what root does"


def test_the_largest_suite_is_read_once_for_all_its_testcases(tmp_path: Path) -> None:
    entries = "".join(f"  t{n}: {{title: {n}}}\n" for n in range(300))
    here = place(tmp_path, many=SUITE.partition("testcases:")[0] + "testcases:\n" + entries)
    assert len(here.testcases()) == 300
    # What was read is kept: the names are still known when the file is gone.
    (tmp_path / "testcases/sub/many.suite.yaml").write_text("")
    assert len(here.testcases()) == 300
    assert json.dumps([found.name for found in select(("*",), here)])
