"""What there is to choose from is known by entry points, and named nowhere else in the house.

Sentences for people may name a driver, as advice does (`fix: --set generator.kind=tgen`): nothing
is decided by them.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, distribution, entry_points
from pathlib import Path

from all_wrong import none_wrong

from vsperf.plugins import GROUPS, OF_READERS

HOUSE = Path(__file__).parents[2] / "vsperf"
CHOICE = re.compile(r"^\w+\.kind=")
"""What `--set` begins with, where a kind is chosen."""
ROOMS = {"drivers", "output"}
"""Packages of packages of kinds."""
LIBRARIES = {"sim": ("simulation",), "testpmd": ("dpdk",), "qemu": ("qemu",), "otg": ("otg",)}
"""Folders that have the name of a program or of a model, and serve the drivers called after it."""
WORDS = {
    "broadcast": "an address, and frames to it",
    "buffer": "what holds frames that wait",
    "caches": "of a CPU",
    "command": "what a program is started with",
    "cps": "connections a second, as others write it",
    "csv": "a form of text",
    "curves": "a part of a result",
    "cycles": "a unit",
    "fixed": "a choice of OTG's documents",
    "flows": "a part of traffic",
    "forwarding": "what a switch does",
    "guest": "a virtual machine, and whose kernel counts",
    "intervals": "a way to tell a difference",
    "json": "a form of text",
    "latency": "a quantity",
    "learning": "what a switch does",
    "loss": "a quantity",
    "memory": "of a host",
    "network": "a rule, and the kernel's networks",
    "noise": "a section of a case",
    "none": "nothing",
    "pacing": "how evenly frames leave, as a column of a table",
    "perf": "a program",
    "pps": "packets a second, as others write it",
    "proc": "a folder of the kernel",
    "ratios": "numbers to others",
    "repeats": "a number in tables",
    "reset": "an action of QEMU",
    "rr": "servers by turns, as IPVS is told",
    "search": "a section of a case, and a purpose of a trial",
    "seconds": "a unit",
    "series": "a layer of a drawing, and a record",
    "stalls": "of a CPU",
    "stream": "what a program sends to another one",
    "throughput": "a quantity",
    "topology": "a section of a case",
    "trend": "a command",
    "turns": "in which switches are sent to, one after the other",
    "workers": "threads",
}
"""Kinds that are words of the field, too, and what else they say. They are looked for where nothing
but a kind is meant: compared with one, and in lists of kinds."""
NAMED = {
    ("cli/main.py", "tgen"): "the command `vsperf tgen`, which speaks to that program by hand",
    ("cli/main.py", "otg"): "the command `vsperf otg`",
    ("cli/tgen_view.py", "tgen"): "its version, in the answer of the program",
    ("cli/selection.py", "external"): "the option `--mode trafficgen`, which means that driver",
    ("cli/selection.py", "iperf3"): "an example of `--program`",
    ("drivers/collectors/command.py", "csv"): "a form in which a program tells numbers",
    ("drivers/collectors/command.py", "json"): "a form in which a program tells numbers",
    ("host/facts.py", "ovs"): "a package of Python",
    ("host/facts.py", "vpp"): "a package of distributions",
    ("drivers/loads/stress_vm.py", "stress"): "the program in the guest, as its agent is told",
    ("methods/events.py", "kill-switch"): "what RFC 6201 asks for, where a case names no events",
    ("methods/events.py", "restart-switch"): "what RFC 6201 asks for, where a case names no events",
    ("records/words.py", "soak"): "a word of the glossary",
    ("records/words.py", "goodput"): "a word of the glossary",
    ("dpdk/command.py", "paired"): "how testpmd joins its ports",
    ("drivers/programs/user_space.py", "tgen"): "a program that serves HTTP",
    ("drivers/vnfs/process/driver.py", "testpmd"): "a program that runs in place of a guest",
    ("drivers/vnfs/qemu/plan.py", "testpmd"): "a program that runs in a guest",
}
"""Where the name of a kind is that of something else: file, name, of what."""


@cache
def offered() -> list[EntryPoint]:
    """Return what is offered by whatever package: vsperf names none of what is outside, either."""
    groups = (*GROUPS.values(), *OF_READERS.values())
    return [one for group in groups for one in entry_points(group=group)]


def homes() -> dict[str, set[Path]]:
    """Return the folders or files that a kind may be named in; of one outside there are none."""
    found: dict[str, set[Path]] = defaultdict(set)
    for entry in offered():
        path, home = entry.module.split("."), found[entry.name]
        if path[0] == HOUSE.name:
            home.add(HOUSE.parent.joinpath(*path[: 4 if path[1] in ROOMS else 3]))
            home |= {HOUSE / name for name in LIBRARIES.get(entry.name, ())}
    return found


@cache
def kinds_by_group() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for entry in offered():
        found[entry.group].add(entry.name)
    return found


def named_in(tree: ast.AST, kinds: set[str]) -> Iterator[tuple[str, int]]:
    """Yield which kinds are named, and in which line."""
    groups = kinds_by_group().values()
    for node in ast.walk(tree):
        texts: list[ast.Constant] = []
        if isinstance(node, ast.Constant) and node.value not in WORDS:
            texts = [node]
        elif isinstance(node, ast.Compare) and any(map(is_kind, (node.left, *node.comparators))):
            texts = constants(node)
        elif isinstance(node, ast.Match) and is_kind(node.subject):
            texts = [one for case in node.cases for one in constants(case.pattern)]
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
            items = node.keys if isinstance(node, ast.Dict) else node.elts
            listed = [one for one in items if isinstance(one, ast.Constant)]
            values = {one.value for one in listed}
            if len(values) > 1 and any(values <= group for group in groups):
                texts = listed
        for text in texts:
            if isinstance(text.value, str) and (kind := CHOICE.sub("", text.value)) in kinds:
                yield kind, text.lineno


def constants(node: ast.AST) -> list[ast.Constant]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Constant)]


def is_kind(node: ast.expr) -> bool:
    """Whether it is a kind, by whatever it is reached."""
    match node:
        case ast.Attribute(attr="kind") | ast.Name(id="kind"):
            return True
        case ast.Subscript(slice=asked) | ast.Call(args=[asked]) | ast.Call(args=[_, asked, *_]):
            return isinstance(asked, ast.Constant) and asked.value == "kind"
    return False


@cache
def named_elsewhere() -> tuple[tuple[str, str, int], ...]:
    """Return the file, the kind and the line of each kind that is named out of its home."""
    return tuple(_named_elsewhere(homes()))


def _named_elsewhere(where: dict[str, set[Path]]) -> Iterator[tuple[str, str, int]]:
    for path in sorted(HOUSE.rglob("*.py")):
        for kind, line in named_in(ast.parse(path.read_text()), set(where)):
            inside = {path.with_suffix(""), *path.parents}
            if not inside & where[kind]:
                yield str(path.relative_to(HOUSE)), kind, line


def test_no_kind_is_named_outside_its_own_folder() -> None:
    none_wrong(
        f"vsperf/{file}:{line} names {kind!r}: let its driver tell what is asked here"
        for file, kind, line in named_elsewhere()
        if (file, kind) not in NAMED
    )


def test_each_exception_is_still_one() -> None:
    found = {(file, kind) for file, kind, _ in named_elsewhere()}
    assert set(NAMED) <= found
    assert set(WORDS) <= set(homes())


def test_a_name_is_seen_wherever_it_is_used_as_one() -> None:
    kinds = {"vpp", "ovs", "latency", "loss", "guest"}

    def seen(text: str) -> list[str]:
        return [kind for kind, _ in named_in(ast.parse(text), kinds)]

    assert seen("NOT_HELD = {'vpp': 'why'}") == ["vpp"]
    assert seen("case.vswitch.kind == 'ovs'") == ["ovs", "ovs"]
    assert seen("'vswitch.kind=vpp'") == ["vpp"]
    assert seen("one.kind in ('guest',)") == ["guest"]
    assert seen("kind != 'guest'") == seen("spec['kind'] == 'guest'") == ["guest"]
    assert seen("getattr(spec, 'kind', '') == 'guest'") == ["guest"]
    assert seen("spec.get('kind') == 'guest'") == ["guest"]
    assert seen("match case.kind:\n case 'guest' | 'tap': pass") == ["guest"]
    assert sorted(seen("FIRST = ('latency', 'loss')")) == ["latency", "loss"]
    assert seen("quantity = 'latency'") == []


def test_the_contract_that_drivers_do_not_import_each_other_knows_the_home_of_each() -> None:
    """With names of groups that nothing offers it held none of them to it, and was kept."""
    text = (HOUSE.parent / "tools" / "independent_drivers.py").read_text()
    assigned = (one for one in ast.parse(text).body if isinstance(one, ast.Assign))
    groups = set(re.findall(r"vsperf\.\w+", ast.unparse(next(assigned))))
    offered = distribution("vsperf").entry_points
    drivers = {one.group for one in offered if one.module.startswith("vsperf.drivers.")}
    assert groups == drivers
