"""Every word that a table or a tutorial uses is explained, in one place and once."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml
from all_wrong import none_wrong
from click.testing import CliRunner

from vsperf.analysis.difference import Means
from vsperf.analysis.why import Verdict
from vsperf.cli.commands import explain
from vsperf.cli.commands.explain import find
from vsperf.cli.connections_view import CLIENT, REQUESTS, SEGMENTS, _words
from vsperf.cli.main import COMMANDS, cli, run_cli
from vsperf.cli.selection import library
from vsperf.config.loader import Request, load
from vsperf.config.lookup import Library
from vsperf.errors import ExitCode, UsageError
from vsperf.methods.base import method_of
from vsperf.output.case_tables import (
    LEVEL_MARKS,
    effort_columns,
    latency_columns,
    limit_column,
    rate_columns,
)
from vsperf.output.table import NOTHING
from vsperf.output.trial_tables import ALWAYS, WHERE_COUNTED
from vsperf.plugins import Plugins
from vsperf.quantities.human import human_bps, human_fps, human_ns
from vsperf.records.files.reader import RunState
from vsperf.records.flags import Flag
from vsperf.records.meaning import LIMITED_BY, LIMITS, how_far
from vsperf.records.result import Limit, heading
from vsperf.records.run import Outcome
from vsperf.records.trial import Purpose
from vsperf.records.turns import Role
from vsperf.records.words import SUBJECTS, meaning

REPOSITORY = Path(__file__).resolve().parents[2]
CURVES = re.compile(r'(?:Curve\(\s*|Axis\()name="(\w+)"')
BOLD_IN_A_LIST = re.compile(r"^- (?=\*\*)(.*?)(?:$|[:,.] )", re.MULTILINE)
LEANED_ON = re.compile(r"(?<![*\w])\*(\w+)\*(?!\*)")
FIGURES_IN_TEXT = re.compile(r"`((?:p50|p99) \w+(?: \w+)?)`")
IN_CODE = re.compile(r"`([A-Za-z][\w.-]*(?: [\w.]+){0,3})`")
PROGRAMS = ("vsperf", "make", "sudo", *COMMANDS)
SET = re.compile(r"--set ([\w.]+)=([a-z][\w-]*)")
DOUBT = re.compile(r"^\s*! ([a-z]+(?:-[a-z]+)+):", re.MULTILINE)
LIMIT_SAID = re.compile(r"limit: [a-z]+")
BOLD = re.compile(r"\*\*(.+?)\*\*")
AMBIGUOUS = "machine"
"""A host, a VM or a VNF: a name that holds it does not say which."""
OF_OTHERS = {
    ("vsperf/drivers/loads/memory_vm.py", "-machine"): "an option of QEMU",
    ("vsperf/drivers/vnfs/qemu/plan.py", "machine"): "what that option of QEMU is given",
    ("vsperf/host/doctor/installation.py", "machine"): "a function of Python",
    ("vsperf/host/facts.py", "machine"): "a function of Python",
    ("vsperf/qemu/command.py", "-machine"): "an option of QEMU",
    ("vsperf/qemu/command.py", "machine"): "what that option of QEMU is given",
    ("vsperf/qemu/settings.py", "machine"): "what that option of QEMU is given",
    ("vsperf/simulation/restless.py", "machine"): "by it the chance of all recorded runs follows",
}
"""Names that others chose: file, name, whose."""
NO_NOUNS = {"one", "found", "way", "who", "somebody"}
"""A loop may hold `one`, and `found` may be what is returned; nothing that stays is called so."""
OF_NO_FIELD = re.compile(r"happ[e]ning|groundw[o]rk|surround[i]ngs|w[i]tness", re.IGNORECASE)
"""Event, calibration, conditions and monitor are the words."""
HOUSE = Path(__file__).parents[2] / "vsperf"
PLACES = (
    *(HOUSE / "cli").rglob("*.py"),
    *(HOUSE / "analysis").glob("*.py"),
    *(HOUSE / "output").glob("*.py"),
    *(HOUSE / "output" / "report").glob("*.py"),
)
MAKERS = ("Column", "_number", "number")
"""Calls of which the first text is a heading."""
LISTERS = ("columns", "_columns", "_table")
"""Calls of which every text is one."""
LISTS = ("NAMES", "COLUMNS", "HEADINGS", "BESIDE", "COSTS", "columns", "names", "head", "spread")
"""Tuples of headings."""
MOST_WORDS = 5


def headings() -> dict[str, str]:
    """Return each heading with the place where it was found first."""
    found: dict[str, str] = {}
    for path in sorted(PLACES):
        for text, line in _in(ast.parse(path.read_text())):
            found.setdefault(text, f"{path.relative_to(HOUSE.parent)}:{line}")
    return {text: place for text, place in found.items() if _is_word(text)}


def _is_word(text: str) -> bool:
    """Whether it can be asked for; a heading that is a sentence says itself what it means."""
    return any(map(str.isalpha, text)) and len(text.split()) <= MOST_WORDS


def _in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in (*MAKERS, *LISTERS):
            yield from _texts(node.args if _name(node.func) in LISTERS else node.args[:1])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_name(one) in LISTS for one in targets):
                yield from _texts(_listed(node.value))


def _listed(node: ast.expr | None) -> list[ast.expr]:
    """Return what a tuple, a list, or the values of a dictionary are, under a condition, too."""
    if isinstance(node, ast.IfExp):
        return [*_listed(node.body), *_listed(node.orelse)]
    if isinstance(node, ast.Dict):
        return node.values
    return node.elts if isinstance(node, ast.Tuple | ast.List) else []


def _texts(nodes: list[ast.expr]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        inner = node.elts if isinstance(node, ast.Tuple) else [node]
        for one in inner:
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield one.value, one.lineno


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return getattr(node, "id", getattr(node, "attr", ""))


def explained(word: str) -> bool:
    return CliRunner().invoke(cli, ["explain", word]).exit_code == 0


def test_every_column_of_the_tables_is_explained() -> None:
    columns = [*rate_columns(()), limit_column(), *latency_columns(), *effort_columns(())]
    names = [column.name for column in columns] + [
        "% line",
        "outcome",
        "clean",
        "trial",
        *ALWAYS,
        *WHERE_COUNTED,
    ]
    assert len(names) > 20
    none_wrong(f"{name}: nobody says what it is" for name in names if meaning(name) is None)


def test_every_word_that_a_tutorial_points_out_is_explained() -> None:
    for page in ("tutorial.md", "tutorial-simulated.md"):
        lines = BOLD_IN_A_LIST.findall((REPOSITORY / "docs" / page).read_text())
        words = [word for line in lines for word in BOLD.findall(line) if word.strip("!")]
        assert words
        none_wrong(f"{page}: {word} is not explained" for word in words if not explained(word))


def test_every_word_that_the_tutorial_of_services_leans_on_is_explained() -> None:
    text = (REPOSITORY / "docs" / "tutorial-service.md").read_text()
    words = {*LEANED_ON.findall(text), *FIGURES_IN_TEXT.findall(text)}
    assert {"places", "arrived", "p99 from due", "p50 difference"} <= words
    none_wrong(f"{word} is not explained" for word in words if not explained(word))


def used_in(page: Path) -> set[str]:
    """Return the words of a page, or of a view, that somebody may look up."""
    text = page.read_text()
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    said = {code for code in IN_CODE.findall(prose) if code.split()[0] not in PROGRAMS}
    set_ = {word for pair in SET.findall(text) for word in pair}
    doubts = {*DOUBT.findall(text), *LIMIT_SAID.findall(text)}
    refused = set(re.findall(r"'(\S+)' is not", text))
    return (said | set_ | doubts) - {"true", "false"} - refused


@pytest.mark.parametrize("where", ["docs/tutorial*.md", "tests/golden/views/*.txt"])
def test_each_word_in_code_each_value_and_each_doubt_is_explained(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "library", cache(library))
    pages = sorted(REPOSITORY.glob(where))
    words = {word: page.name for page in pages for word in used_in(page)}
    assert len(words) > 5
    none_wrong(
        f"{page}: {word} is not explained"
        for word, page in words.items()
        if meaning(word) is None and not explained(word)
    )


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("soft-knee", "of sim: Realistic: loss begins gently"),
        ("early-counters", "It reads its counters while the last frames are on their way"),
        ("l3", "of ovs, ovs-dpdk: Rules: one per port"),
        ("traffic", "A section with the settings"),
    ],
)
def test_a_word_that_a_setting_is_chosen_by_is_explained(word: str, said: str) -> None:
    (told,) = find(word).values()
    assert said in " ".join(told.values())


def test_a_pass_is_told_of_cases_that_nobody_set_a_target_for_as_well() -> None:
    assert "no target was set" in str(find("PASS"))


def test_a_mistyped_one_is_answered_with_what_was_meant() -> None:
    with pytest.raises(UsageError) as refused:
        find("soft-kne")
    assert str(refused.value.problems[0].fix).startswith("did you mean soft-knee")


def test_each_name_that_stands_in_a_table_is_explained() -> None:
    """Kinds of drivers, presets, testbeds and whatever else is called by a name of its own."""
    here = Library.find({}, REPOSITORY)
    words = [one.kind for one in (*Plugins.load().all, *Plugins.beside())]
    for kind in ("testbeds", "presets", "topologies", "noise"):
        words += (names := list(here.files(kind)))
        assert names
    words.append("phy2phy_tput")  # each testcase is found as that one
    none_wrong(f"{word} is not explained" for word in dict.fromkeys(words) if not find(word))


def test_each_unit_and_each_mark_of_a_table_is_explained() -> None:
    sizes = [10.0**power for power in range(-1, 11)]
    texts = [write(size) for size in sizes for write in (human_fps, human_bps, human_ns)]
    units = {text.split()[-1] for text in texts} | {"MiB", "B", "L1", "L2"}
    assert {"Mfps", "Gbit/s", "µs", "s"} <= units
    marks = [*LEVEL_MARKS.values(), NOTHING, "!", "≥", "…", "±", "×", "A′"]
    none_wrong(f"{word} is not explained" for word in (*units, *marks) if not find(word))


def test_a_setting_is_explained_by_its_path_also_behind_a_name_of_the_users_own() -> None:
    (told,) = find("search.goals.mine.loss_ratio").values()
    ((path, text),) = told.items()
    assert path.startswith("search.goals.NAME.loss_ratio")
    assert "0.5%" in text
    assert find("vswitch.emc")["settings"]
    with pytest.raises(UsageError, match="nothing to explain"):
        find("vswitch.emcc")


def test_without_a_word_all_of_them_are_named_and_none_is_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_cli(["explain"]) == ExitCode.OK
    printed = capsys.readouterr().out
    assert re.search(r"(  | · )NDR · ", printed)
    assert "Non-drop rate" not in printed


def test_a_word_is_explained_however_it_is_written() -> None:
    assert all(map(explained, ("NDR", "ndr", "p99.9", "clean", "cycles/frame", "Path-Check")))


def test_a_word_with_any_number_of_endings_is_looked_up() -> None:
    assert meaning("ratio" + " a" * 2_000) == meaning("ratio") is not None
    assert meaning("nothing of the kind" + " a" * 2_000) is None


def test_what_limited_a_number_has_one_name_and_so_has_the_time_that_it_may_take() -> None:
    """Pages said `limited by` and `time given` where tables say `limit` and `budget`."""
    assert meaning("limited by") == meaning("limit")
    assert not any("limited by" in words for words in SUBJECTS.values())
    assert LIMITED_BY[Limit.BUDGET] == f"the {Limit.BUDGET}"
    for said in (LIMITS[Limit.BUDGET], Flag.OUT_OF_BUDGET.meaning):
        assert said.startswith("The case's share of the budget was used up")


def test_what_exports_and_plans_call_something_is_explained() -> None:
    assert "sleep most of the time" in str(find("switch main"))
    for name in ("pdr_throughput", "ndr_throughput_fps", "conditional throughput"):
        assert "at the lower bound" in str(find(name))


def test_a_word_with_two_meanings_is_told_with_both() -> None:
    said = CliRunner().invoke(cli, ["explain", "generator"]).output
    assert "Limits" in said
    assert "Parts" in said


def test_a_word_that_is_a_subject_too_is_told_with_both() -> None:
    found = find("host")
    assert list(found) == ["limits", "host"]
    assert list(found["limits"]) == ["host"]
    assert "steal" in found["host"]


def test_a_word_is_explained_as_it_is_printed_behind_its_subject() -> None:
    assert find("limit: host") == {"limits": {"host": find("limits")["limits"]["host"]}}
    assert find("limit host") == find("limit: host")
    assert find("RFC9971") == find("RFC 9971")
    with pytest.raises(UsageError, match="nothing to explain"):
        find("limit: nobody")


def test_no_word_of_the_field_is_explained_twice() -> None:
    counted = Counter(word.lower() for words in SUBJECTS.values() for word in words)
    none_wrong(f"{word}: {count} times" for word, count in counted.items() if count > 1)
    assert len(counted) > 60


def test_each_heading_of_a_table_is_explained() -> None:
    known = headings()
    assert {"limit", "so it is", "took", "measured at, and why"} <= set(known), "none was found"

    def is_explained(heading: str) -> bool:
        try:
            return bool(find(heading))
        except UsageError:
            return False

    none_wrong(
        f"{place} has the heading {heading!r}, which `vsperf explain` does not know"
        for heading, place in known.items()
        if not is_explained(heading)
    )


def test_each_figure_of_a_method_and_each_axis_of_its_curves_is_explained() -> None:
    here, names = Library.find({}, REPOSITORY), dict[str, str]()
    wanted = Request(tuple(here.files("testcases")), testbed="local")
    for case in load(wanted, here, Plugins.load().specs()).cases:
        method = method_of(case.spec)
        own = (name for name in method.metrics() if name not in method.asked())  # of a testcase
        names |= dict.fromkeys(own, case.spec.search.kind)
    assert {"burst", "ratio_b", "kill_time", "p99_loaded", "connection_rate_clean"} <= set(names)
    for path in sorted((REPOSITORY / "vsperf" / "methods").glob("*.py")):
        names |= dict.fromkeys(CURVES.findall(path.read_text()), path.name)
    none_wrong(
        f"{kind} answers with {name}, which `vsperf explain` does not know"
        for name, kind in names.items()
        if meaning(heading(name)) is None and not explained(name)
    )


def test_each_word_for_how_something_ended_is_explained() -> None:
    words = [
        *(one.value for one in (*Purpose, *Role, *RunState, *Verdict, *Means, *Outcome, *Limit)),
        *(how_far(begun=begun, refuted=why) for begun in (True, False) for why in (None, "x")),
        *map(_words, (*CLIENT, *REQUESTS, *SEGMENTS)),
        *("worse", "better", "no change", "cannot be told", "slower", "faster", "~", "?", "near"),
    ]
    none_wrong(
        f"{word} is not explained"
        for word in words
        if meaning(word) is None and not explained(word)
    )


def test_a_figure_in_another_form_is_explained_as_the_figure() -> None:
    assert find("ratio_c") == find("ratio")
    assert find("packet_rate_clean") == find("packet rate")
    assert meaning("buffer time slow bursts") == meaning("buffer time")
    with pytest.raises(UsageError, match="nothing to explain under 'nonsense_b'"):
        find("nonsense_b")


def test_several_words_need_no_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["explain", "so", "it", "is"]) == ExitCode.OK
    assert "not to be told apart" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("cps", "Highest rate of new connections"),
        ("flow-setup", "New flows in a second"),
        ("connection_rate", "begin in a second"),
        ("near", "How far the hypervisor has put the CPUs"),
        ("host: too busy to tell", "host-too-busy"),
        ("simple", "match by port alone"),
        ("slot", "About 3 ms of a trial"),
        ("distance", "each distance, near and far, is a regime"),
        ("pinning", "keeping a thread on one CPU"),
        ("vCPUs", "a CPU as a guest sees it"),
        ("dut", "the device under test"),
    ],
)
def test_a_word_of_a_table_or_a_testcase_is_explained(
    word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["explain", word]) == ExitCode.OK
    assert said.lower() in " ".join(capsys.readouterr().out.split()).lower()


@pytest.mark.parametrize(
    ("word", "since"),
    [
        ("latency", "leaves later than it was due"),
        ("p50 from sent", "from when the client came to send them"),
        ("p99 from due", "from when they were due by the clock"),
        ("mean round trip", "from when a request was sent"),
        ("response p99", "from when a request was due"),
        ("handshake p99", "from when the first segment of a connection was due"),
    ],
)
def test_a_time_says_since_when_it_counts(word: str, since: str) -> None:
    """What waits before it leaves is in one that counts from when it was due, and in no other."""
    assert since in str(meaning(word)).lower()


def test_each_method_that_is_installed_is_explained() -> None:
    (methods,) = find("methods").values()
    assert set(methods) >= {"mlr", "rfc2544", "cps", "stream"}
    assert find(None)["methods"] == methods


def names_in_python(code: str) -> Iterator[str]:
    """Yield every name that code gives or uses, and texts that are a single word, such as a key."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield from (name, other or "")
            case ast.Constant(value=str(text)) if not re.search(r"\s", text):
                yield text


def keys_in_yaml(content: object) -> Iterator[str]:
    """Yield every key of a file, and values that are a single word, such as a kind."""
    match content:
        case dict():
            for key, value in content.items():
                yield str(key)
                yield from keys_in_yaml(value)
        case list():
            for value in content:
                yield from keys_in_yaml(value)
        case str() if not re.search(r"\s", content):
            yield content


def test_no_name_says_machine_where_host_vm_and_vnf_are_words() -> None:
    found: set[tuple[str, str]] = set()
    files = [
        path
        for folder in ("vsperf", "tools/chassis/vsperf_chassis", "conf", "testcases")
        for path in sorted((REPOSITORY / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert {path.suffix for path in files} >= {".py", ".yaml"}
    for path in files:
        name = str(path.relative_to(REPOSITORY))
        words = [name]
        if path.suffix == ".py":
            words += names_in_python(path.read_text())
        elif path.suffix == ".yaml":
            words += keys_in_yaml(yaml.safe_load(path.read_text()))
        found.update((name, word) for word in words if AMBIGUOUS in word.lower())
    none_wrong(
        f"{file}: is {name} a host, a VM or a VNF?" for file, name in sorted(found - set(OF_OTHERS))
    )
    none_wrong(f"{file}: {name} is not there" for file, name in sorted(set(OF_OTHERS) - found))


def test_no_type_and_no_heading_is_a_word_that_says_nothing() -> None:
    named = {
        name: str(path.relative_to(REPOSITORY))
        for folder in ("vsperf", "tests", "tools")
        for path in (REPOSITORY / folder).rglob("*.py")
        for name in re.findall(r"^ *class (\w+)", path.read_text(), re.MULTILINE)
    }
    named |= headings()
    assert {"CaseSpec", "Trial", "limit"} <= set(named)
    none_wrong(f"{where}: {name}" for name, where in named.items() if name.lower() in NO_NOUNS)


def test_words_that_are_not_of_the_field_are_nowhere() -> None:
    none_wrong(
        f"{path.relative_to(REPOSITORY)}: {word}"
        for folder in ("vsperf", "conf", "testcases", "docs", "tests", "tools", "vnfs")
        for path in sorted((REPOSITORY / folder).rglob("*"))
        if path.suffix in (".py", ".md", ".yaml", ".c", ".h", ".txt", ".json")
        for word in (path.name, *OF_NO_FIELD.findall(path.read_text(errors="replace")))
        if OF_NO_FIELD.search(word)
    )


def test_host_vm_and_vnf_are_explained() -> None:
    none_wrong(f"{word} is not explained" for word in ("host", "VM", "VNF") if not explained(word))
