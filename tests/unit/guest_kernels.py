"""Kernels for guests, packed as the distribution packs them, and programs that fetch them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import Require
from guest_image import kernel
from machine_tree import script

PACKAGE = kernel.Package("linux-image-9.9-test", "9.9-1")
SIGNATURE = b"x" * 20 + bytes(8) + (20).to_bytes(4, "big") + b"~Module signature appended~\n"


def module(name: str, *needs: str) -> bytes:
    return f"\x7fELF\0name={name}\0depends={','.join(needs)}\0more".encode()


def system(builtin: frozenset[str] = frozenset(), **needs: tuple[str, ...]) -> kernel.Kernel:
    packed = {name: module(name, *each) for name, each in needs.items()}
    return kernel.Kernel("9.9-test", b"kernel", packed, builtin)


SYSTEM = {
    "virtio": (),
    "virtio_ring": (),
    "virtio_pci": ("virtio", "virtio-ring"),
    "virtio_net": ("virtio_ring", "failover"),
    "failover": (),
    "virtio_console": ("virtio",),
    "uio": (),
    "uio_pci_generic": ("uio",),
    "bridge": ("stp", "llc"),
    "stp": ("llc",),
    "llc": (),
}
PACKET_BUILT_IN = frozenset({"af_packet"})


def make_package(
    folder: Path,
    name: str = "linux-image-9.9-test",
    image: str | None = "boot/vmlinuz-9.9-test",
    modules: Mapping[str, tuple[str, ...]] = SYSTEM,
) -> Path:
    """Pack a kernel the way the distribution does, with modules that hold only their names."""
    tree = folder / f"tree-{name}"
    home = tree / "lib/modules/9.9-test"
    (tree / "DEBIAN").mkdir(parents=True)
    (home / "kernel").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: 9.9-1\nArchitecture: amd64\n"
        "Maintainer: nobody <nobody@example.org>\nDescription: a kernel for tests\n"
    )
    if image is not None:
        (tree / image).parent.mkdir(parents=True, exist_ok=True)
        (tree / image).write_bytes(b"kernel" * 1000)
    for word, needs in modules.items():
        file = home / "kernel" / f"{word.replace('_', '-')}.ko"
        file.write_bytes(module(word, *needs) + SIGNATURE)
    if modules:
        (home / "modules.builtin").write_text("kernel/net/packet/af_packet.ko\n")
    path = folder / f"{name}_9.9-1.deb"
    subprocess.run(["dpkg-deb", "--build", tree, path], check=True, capture_output=True)
    return path


@pytest.fixture(name="package", scope="module")
def fixture_package(tmp_path_factory: pytest.TempPathFactory, require: Require) -> Path:
    for program in ("dpkg-deb", "gcc", "busybox", "dpdk-testpmd", "ldd"):
        require(program)
    return make_package(tmp_path_factory.mktemp("package"))


def prepared(folder: Path, package: Path) -> Path:
    """Return a folder for an image whose kernel has been downloaded already."""
    downloads = folder / "downloads"
    downloads.mkdir(parents=True)
    shutil.copy(package, downloads)
    chosen = [{"name": PACKAGE.name, "version": PACKAGE.version}]
    (downloads / kernel.CHOICE).write_text(json.dumps(chosen))
    return folder


def commands(folder: Path, **scripts: str) -> str:
    """Return a search path on which these programs do as they are told here."""
    folder.mkdir()
    for name, text in scripts.items():
        script(folder / name.replace("_", "-"), text)
    return f"{folder}:{os.environ['PATH']}"
