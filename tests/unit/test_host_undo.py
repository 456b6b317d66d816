"""An undo names what its deployment can have changed, or it is refused when it is carried out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vsperf.host.dead import dead_deployments
from vsperf.host.files import Roots
from vsperf.host.owner import Owner
from vsperf.host.places import short_name
from vsperf.host.procfs import start_ticks
from vsperf.host.undo import UNDO
from vsperf.host.undo_base import Reach

NAME = "vsperf-1-abcdef"
POOL = {
    "node": 0,
    "page_bytes": 2 << 20,
    "folder": "/sys/devices/system/node/node0/hugepages/hugepages-2048kB",
}
PAGES = {
    "kind": "return-hugepages",
    "ledger": "/run/vsperf/hugepages-0-2097152.json",
    "pool": POOL,
    "claim": f"/run/vsperf/{NAME}/hugepages-abc",
}
WAYS = {
    "kind": "return-cache-ways",
    "folder": "/sys/fs/resctrl",
    "before": "L3:0=7ff;1=7ff",
    "now": "L3:0=700;1=7f0",
}
CARD = {"kind": "bind-driver", "address": "0000:08:00.0", "driver": "i40e"}


@pytest.fixture(name="reach")
def fixture_reach(monkeypatch: pytest.MonkeyPatch) -> Reach:
    """Return what a deployment of root's can have changed."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return Reach(Path("/run/vsperf") / NAME, since=1000)


@pytest.mark.parametrize(
    "undo",
    [
        {"kind": "end-marked", "mark": f"{NAME}/switch"},
        {"kind": "kill-process", "pid": 4711, "started": 1000},
        {"kind": "sweep-dpdk", "prefix": NAME},
        {"kind": "sweep-shared-memory", "prefix": NAME},
        {"kind": "remove-tap", "name": f"{short_name(NAME)}-1-0"},
        {"kind": "remove-tap", "name": "ovs-netdev"},
        {"kind": "remove-network", "name": NAME},
        CARD,
        {**CARD, "driver": None},
        PAGES,
        WAYS,
    ],
    ids=str,
)
def test_what_a_deployment_changes_is_taken_back(reach: Reach, undo: dict[str, Any]) -> None:
    assert UNDO.validate_python(undo).is_within(reach)


@pytest.mark.parametrize(
    "undo",
    [
        {"kind": "end-marked", "mark": "vsperf-2-abcdef/switch"},
        {"kind": "end-marked", "mark": ""},
        {"kind": "kill-process", "pid": 1, "started": 1000},
        {"kind": "kill-process", "pid": -1, "started": 1000},
        {"kind": "kill-process", "pid": 4711, "started": 999},
        {"kind": "sweep-dpdk", "prefix": ""},
        {"kind": "sweep-dpdk", "prefix": "vsperf-2-abcdef"},
        {"kind": "sweep-dpdk", "prefix": "../etc"},
        {"kind": "sweep-shared-memory", "prefix": ""},
        {"kind": "sweep-shared-memory", "prefix": "vsperf-2-abcdef"},
        {"kind": "remove-tap", "name": "tap0"},
        {"kind": "remove-tap", "name": "vsp000000-1-0"},
        {"kind": "remove-network", "name": "vsperf-2-abcdef"},
        {"kind": "remove-network", "name": f"../{NAME}"},
        {"kind": "remove-network", "name": ""},
        {**CARD, "address": "../../../../etc"},
        {**CARD, "driver": "../../../etc/cron.d"},
        {**CARD, "sysfs": "/tmp/pci"},
        {**PAGES, "ledger": "/etc/shadow"},
        {**PAGES, "ledger": "/tmp/vsperf-0/hugepages-0-2097152.json"},
        {**PAGES, "ledger": "/run/vsperf/hugepages-1-2097152.json"},
        {**PAGES, "ledger": "/run/vsperf/../x/hugepages-0-2097152.json"},
        {**PAGES, "claim": "/run/vsperf/vsperf-2-abcdef/hugepages-abc"},
        {**PAGES, "claim": f"/run/vsperf/{NAME}/../x"},
        {**PAGES, "pool": {**POOL, "folder": "/proc/sys/vm"}},
        {**PAGES, "pool": {**POOL, "folder": "/tmp/pool"}},
        {**PAGES, "pool": {**POOL, "node": -1}},
        {**WAYS, "folder": "/etc"},
        {**WAYS, "folder": "/sys/fs/resctrl/mine"},
        {**WAYS, "before": "L3:0=1;1=1"},
        {**WAYS, "before": "L3:0=7ff;1=7ff\nMB:0=10"},
    ],
    ids=str,
)
def test_whatever_else_a_journal_says_is_refused(reach: Reach, undo: dict[str, Any]) -> None:
    known = UNDO.validate_python(undo)
    assert not known.is_within(reach)
    with pytest.raises(OSError, match=f"{NAME} cannot have changed that"):
        known.take_back(reach)


@pytest.mark.parametrize("kind", ["write-file", "remove-file", "remove-tree", "unmount"])
def test_there_is_no_undo_for_any_file_at_all(kind: str) -> None:
    with pytest.raises(ValueError, match="does not match any of the expected tags"):
        UNDO.validate_python({"kind": kind, "path": "/etc/passwd", "value": "x"})


@pytest.fixture(name="bystander")
def fixture_bystander() -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that no deployment has to do with."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_what_a_journal_should_not_say_is_told_and_not_done(
    tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    folder = tmp_path / "run" / NAME
    folder.mkdir(parents=True, mode=0o700)
    started = start_ticks(bystander.pid)
    assert started is not None
    owner = Owner.this_process("a run").model_copy(update={"pid": 1, "started": started + 1})
    owner.write(folder)
    undo = {"kind": "kill-process", "pid": bystander.pid, "started": started}
    (folder / "journal.jsonl").write_text(json.dumps({"number": 1, "undo": undo}) + "\n")
    (dead,) = dead_deployments((tmp_path / "run",))
    (failure,) = dead.take_down(Roots())
    assert failure.startswith(f"cannot end process {bystander.pid}: {NAME} cannot have changed")
    assert bystander.poll() is None
    assert folder.exists()
