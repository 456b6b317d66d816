"""Checks of what this user may do."""

from __future__ import annotations

from vsperf.host.doctor.finding import Answer, Check, Group, Host, failure, ok, unknown, warning
from vsperf.host.doctor.wants import Want
from vsperf.host.files import field
from vsperf.host.open_files import FIX, lacking

CAPABILITIES = {
    "CAP_DAC_OVERRIDE": (1, "writing the kernel's settings"),
    "CAP_NET_ADMIN": (12, "making the switch's network devices"),
    "CAP_IPC_LOCK": (14, "locking memory for devices"),
    "CAP_SYS_RAWIO": (17, "devices on the PCI bus"),
    "CAP_SYS_ADMIN": (21, "mounting hugetlbfs, and binding drivers"),
    "CAP_SYS_NICE": (23, "moving threads and memory"),
}
"""Bit of each, and what it is for."""
INDISPENSABLE = "CAP_NET_ADMIN"
LEAST_LOCKED_BYTES = 2 * 2**30
"""A device is given the whole memory of its program; less than this has not been seen to do."""


def _privileges(here: Host) -> Answer:
    status = here.roots.proc / "self" / "status"
    users, mask = field(status, "Uid"), field(status, "CapEff")
    if users is None or mask is None:
        return unknown(f"{status} does not say it")
    user = int(users.split()[1])
    held = int(mask, 16)
    missing = [name for name, (bit, _) in CAPABILITIES.items() if not held >> bit & 1]
    if user != 0:
        return failure(f"user {user}, and what makes devices wants root", "run vsperf with sudo")
    if not missing:
        return ok(f"root, with {', '.join(CAPABILITIES)}")
    lost = ", ".join(f"{name} ({CAPABILITIES[name][1]})" for name in missing)
    evidence = f"root without {lost}"
    options = " ".join(f"--cap-add={name.removeprefix('CAP_')}" for name in missing)
    fix = f"in a container: {options}"
    return failure(evidence, fix) if INDISPENSABLE in missing else warning(evidence, fix)


def _locked_memory(here: Host) -> Answer:
    limit = _limit(here, "Max locked memory")
    mask = field(here.roots.proc / "self" / "status", "CapEff")
    if limit is None or mask is None:
        return unknown("the limits of this process cannot be read")
    if int(mask, 16) >> CAPABILITIES["CAP_IPC_LOCK"][0] & 1:
        return ok(f"limit {limit}, and CAP_IPC_LOCK lifts it")
    if limit == "unlimited" or int(limit) >= LEAST_LOCKED_BYTES:
        return ok(f"limit {limit}")
    evidence = f"limit {limit} bytes: too few for NICs on vfio-pci; virtual ports need none"
    return warning(evidence, "ulimit -l unlimited")


def _open_files(here: Host) -> Answer:
    limit = _limit(here, "Max open files")
    if limit is None:
        return unknown("the limits of this process cannot be read")
    too_few = None if limit == "unlimited" else lacking(int(limit))
    return failure(too_few, FIX) if too_few else ok(f"limit {limit}")


def _limit(here: Host, name: str) -> str | None:
    """Return the soft limit, in the words of the kernel."""
    try:
        lines = (here.roots.proc / "self" / "limits").read_text().splitlines()
    except OSError:
        return None
    found = (line.removeprefix(name).split() for line in lines if line.startswith(name))
    return next((columns[0] for columns in found if columns), None)


CHECKS = (
    Check("privileges", Group.RIGHTS, _privileges, frozenset({Want.ROOT, Want.NICS})),
    Check("locked memory", Group.RIGHTS, _locked_memory, frozenset({Want.NICS})),
    Check("open files", Group.RIGHTS, _open_files, frozenset({Want.QUIET_CPUS})),
)
