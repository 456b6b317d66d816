"""Templates in settings of VNFs: what they can say, and that none takes long."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qemu_cases import qemu_case, vnfs
from simulated_cases import simulated_case
from wires import wires_of

from vsperf.drivers.vnfs.process.driver import ProcessSpec, vnfs_of
from vsperf.drivers.vnfs.process.driver import RunningVnf as RunningProcess
from vsperf.drivers.vnfs.settings import LONGEST, render
from vsperf.errors import DiedError
from vsperf.host.process import Managed, managed
from vsperf.host.workspace import Workspace, workspace
from vsperf.qemu.vm import RunningVm
from vsperf.records.run import Placement

VM = {"vm": {"name": "vm3", "index": 3}}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no template", "no template"),
        ("10.0.0.{{ vm.index }}", "10.0.0.3"),
        ("{{ vm.name }}.qcow2", "vm3.qcow2"),
        ("{{ 8 * vm.index + 1 }}", "25"),
        ("{{ (vm.index - 1) // 2 }}-{{ vm.index % 2 }}", "1-1"),
        ("52:54:00:00:00:{{ '%02x' % vm.index }}", "52:54:00:00:00:03"),
        ("52:54:00:00:00:{{ '%02x' | format(vm.index) }}", "52:54:00:00:00:03"),
        ("{{ 'first' if vm.index == 1 else 'other' }}", "other"),
        ("{% if vm.index > 2 %}late{% else %}early{% endif %}", "late"),
        ("{{ vm.name | upper }}{{ vm['index'] ~ 'a' }}", "VM33a"),
    ],
)
def test_an_expression_is_worked_out_for_each_vnf(text: str, found: str) -> None:
    assert render(text, VM) == found


NESTED = 9 * "{% for a in range(99999) %}" + "x" + 9 * "{% endfor %}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (NESTED, "it holds a for"),
        ("{% for a in 'ab' %}{% endfor %}", "it holds a for"),
        ("{{ 10 ** 10 ** 10 }}", "it holds a pow"),
        ("{{ 'a' * 10000000000 }}", "only numbers are multiplied"),
        ("{{ vm.index * 'a' }}", "only numbers are multiplied"),
        ("{{ [0] * 10000000000 }}", "it holds a list"),
        ("{{ '%9999999999d' % vm.index }}", "999 characters"),
        ("{{ '%*d' % vm.index }}", "999 characters"),
        ("{{ '%9999999999d' | format(vm.index) }}", "999 characters"),
        ("{{ 'a'.center(9999999999) }}", "it holds a call"),
        ("{{ 'a' | center(9999999999) }}", "center"),
        ("{% set a = 'b' %}{{ a }}", "it holds a assign"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "it holds a macro"),
        ("{% include 'a' %}", "it holds a include"),
        ("{{ range }}", "'range' is undefined"),
        ("{{ vm.colour }}", "colour"),
        ("{{ ''.__class__ }}", "is unsafe"),
        ("{{ vm.index / 0 }}", "division by zero"),
        ("{{ '\x00' }}", "control character"),
        (r"{{ '\x00' }}", "control character"),
        ("{{", "end of template"),
        ("{{ 1 }}" + " " * LONGEST, "4096 characters"),
    ],
)
def test_what_would_take_long_or_makes_no_sense_is_refused_with_its_reason(
    text: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        render(text, VM)


@pytest.mark.parametrize("text", ["(" * 1000 + "1" + ")" * 1000, "9 *" * 1000 + "9", "-" * 4000])
def test_a_deep_expression_is_worked_out_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert render(f"{{{{ {text} }}}}", VM).isdigit()


OPERATORS = ("**", "*", "%", "~", "-", "(", ")", "[", "]", ",", " ", " if ", " else ", "}}", "{{")
PIECES = st.sampled_from(
    (
        *("vm", ".index", ".name", "vm.index", "'ab'", "9", *OPERATORS),
        *("|format", "|int", "|string", "|lower", "|list", "|join(9)", "range(9)"),
        *("{% for a in vm %}", "{% endfor %}"),
    )
)


@given(words=st.lists(PIECES, max_size=40))
def test_any_words_give_a_text_or_a_reason(words: list[str]) -> None:
    with contextlib.suppress(ValueError):
        assert len(render("{{" + "".join(words) + "}}", VM)) < 100_000


# Nobody waits for a VNF that cannot come up any more.

LOST = "tgen was lost while vm1 was waited for"


@pytest.fixture(name="place")
def fixture_place() -> Iterator[Workspace]:
    """Give a workspace in which the generator was killed."""
    with (
        tempfile.TemporaryDirectory() as folder,  # short, as sockets need
        workspace("a test", Path(folder)) as place,
        managed(["sleep", "100"], name="tgen", workspace=place) as tgen,
    ):
        tgen.process.kill()
        assert tgen.await_end(60.0)
        yield place


@pytest.fixture(name="program")
def fixture_program(place: Workspace) -> Iterator[Managed]:
    """Give the program of a VNF that waits for the others."""
    with (
        workspace("a VNF", place.folder) as apart,  # started while all others lived
        managed(["sleep", "100"], name="vm1", workspace=apart) as program,
    ):
        yield program


def test_a_guest_that_nobody_can_plug_in_any_more(place: Workspace, program: Managed) -> None:
    (vnf,) = vnfs(qemu_case())
    running = RunningVm(vnf, program, place)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(place.fill(vnf.qmp))
        silent.listen()
        with pytest.raises(DiedError, match=LOST) as caught:
            running.plug_in(time.monotonic() + 60)
    assert "SIGKILL" in str(caught.value.problems[0].why)


def test_a_process_whose_links_cannot_come_up_any_more(place: Workspace, program: Managed) -> None:
    topology = {"name": "pvp", "paths": [["phy0", "vm1", "phy1"]]}
    spec = ProcessSpec.model_validate({"kind": "process"})
    case = simulated_case(topology=topology, vnf=spec)
    (vnf,) = vnfs_of(case, spec, wires_of(case), Placement(cpus={"vm1": (0,)}))
    running = RunningProcess(
        vnf, program, place.folder / "telemetry", lambda: place.attend("while vm1 was waited for")
    )
    with pytest.raises(DiedError, match=LOST):
        running.await_forwarding(time.monotonic() + 60)
