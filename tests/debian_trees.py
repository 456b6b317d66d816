"""A tree of another release of Debian with OVS in it, made by debootstrap from our mirror.

It is kept in build/trees, so that a CI can cache it: it is as good as the day it was made.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

RELEASES = ("trixie", "bookworm")
TREES = Path(__file__).parent.parent / "build" / "trees"
PACKAGE = "openvswitch-switch-dpdk"
PACKAGES = f"{PACKAGE},librte-meta-mempool,librte-meta-bus"
"""OVS, and DPDK's plugins without which it makes no buffers and knows no devices."""
TARGETS = ("apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian")


def other_release() -> str:
    """Return a release of Debian that this machine is not of."""
    own = platform.freedesktop_os_release().get("VERSION_CODENAME")
    return next(release for release in RELEASES if release != own)


def mirror() -> str | None:
    """Return where this machine gets Debian's packages from; None where it does not."""
    if shutil.which(TARGETS[0]) is None:
        return None
    asked = [*TARGETS, "Created-By: Packages"]
    said = subprocess.run(asked, text=True, capture_output=True, check=False).stdout
    return next(iter(said.split()), None)


def why_not() -> str | None:
    """Return why there is no tree, and none can be made."""
    if os.geteuid() != 0:
        return "only root can make or enter a tree"
    if (TREES / other_release()).is_dir():
        return None
    if shutil.which("debootstrap") is None:
        return "the program debootstrap is not installed, and makes it"
    return None if mirror() else "this machine gets no packages of Debian"


def debian_tree(release: str) -> Path:
    """Return the tree of a release, made if there is none; whole, or not there."""
    TREES.mkdir(parents=True, exist_ok=True)
    with (TREES / f"{release}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other lane may be at it
        return _made(release)


def _made(release: str) -> Path:
    tree, half = TREES / release, TREES / f"{release}.half"
    if tree.is_dir():
        return tree
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir()
    quick = {**os.environ, "DPKG_FORCE": "unsafe-io"}  # who loses a half one makes it anew
    with TemporaryDirectory() as folder:
        way = Path(folder) / release  # debootstrap knows no path with a space in it
        way.symlink_to(half)
        argv = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", release, str(way)]
        argv += filter(None, [mirror()])
        done = subprocess.run(argv, text=True, capture_output=True, check=False, env=quick)
    last = "\n".join((done.stdout + done.stderr).splitlines()[-10:])
    assert done.returncode == 0, f"debootstrap could not make {release}:\n{last}"
    for package in (half / "var" / "cache" / "apt" / "archives").glob("*.deb"):
        package.unlink()
    half.rename(tree)
    return tree
