"""The kernel of a guest: chosen once, fetched whole, its modules in the order of their needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Require
from guest_image import kernel, modules
from guest_image.failure import BuildError
from guest_kernels import (
    PACKAGE,
    PACKET_BUILT_IN,
    SIGNATURE,
    SYSTEM,
    commands,
    fixture_package,
    make_package,
    module,
    prepared,
    system,
)

__all__ = ["fixture_package"]


def test_modules_come_behind_what_they_need_and_once() -> None:
    lists = modules.ordered(system(PACKET_BUILT_IN, **SYSTEM))
    assert lists["linux_bridge"] == ("llc", "stp", "bridge")
    assert lists["testpmd"] == ("uio", "uio_pci_generic")
    boot = lists["boot"]
    assert boot.index("virtio_ring") < boot.index("virtio_pci")
    assert len(set(boot)) == len(boot)


def test_what_the_kernel_has_built_in_is_not_loaded() -> None:
    lists = modules.ordered(system(PACKET_BUILT_IN | {"virtio", "uio"}, **SYSTEM))
    assert "virtio" not in lists["boot"]
    assert lists["testpmd"] == ("uio_pci_generic",)


def test_a_kernel_without_a_module_is_refused_by_its_name() -> None:
    lacking = {name: needs for name, needs in SYSTEM.items() if name != "uio_pci_generic"}
    with pytest.raises(BuildError, match=r"9\.9-test has no module uio_pci_generic"):
        modules.ordered(system(PACKET_BUILT_IN, **lacking))


def test_the_signature_of_a_module_is_taken_off() -> None:
    signed = kernel.Kernel("9.9", b"", {"a": module("a") + SIGNATURE}, frozenset())
    assert modules.plain(signed, "a") == module("a")


def test_a_kernel_is_found_in_one_package_or_spread_over_several(
    tmp_path: Path, require: Require
) -> None:
    """As in Debian up to 13, and from 14 on: the image is empty, and the kernel lies by modules."""
    require("dpkg-deb")
    spread = {
        "linux-image-9.9-test": (None, {}),
        "linux-binary-9.9-test": ("usr/lib/modules/9.9-test/vmlinuz", {}),
        "linux-modules-9.9-test": (None, SYSTEM),
    }
    together = kernel.unpack({PACKAGE: make_package(tmp_path)})
    apart = kernel.unpack(
        {
            kernel.Package(name, "9.9-1"): make_package(tmp_path / "apart", name, image, modules)
            for name, (image, modules) in spread.items()
        }
    )
    assert together == apart
    assert (apart.release, len(apart.image)) == ("9.9-test", 6000)


def test_without_package_lists_the_way_to_get_them_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    (empty / "apt-cache").write_text("#!/bin/sh\nexit 100\n")
    (empty / "apt-cache").chmod(0o755)
    monkeypatch.setenv("PATH", str(empty))
    (tmp_path / "downloads").mkdir()
    with pytest.raises(BuildError, match="no kernel for the guest is known") as caught:
        kernel.chosen(tmp_path / "downloads")
    assert "apt-get update" in caught.value.fix


def test_a_kernel_that_was_chosen_is_downloaded_again_where_its_file_is_missing(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads = prepared(tmp_path / "image", package) / "downloads"
    (downloads / package.name).unlink()
    get = f'case "$*" in *download*{PACKAGE.name}={PACKAGE.version}*) cp {package} . ;; esac'
    path = commands(tmp_path / "bin", apt_get=get, apt_cache="exit 100")
    monkeypatch.setenv("PATH", path)
    assert kernel.chosen(downloads) == {PACKAGE: downloads / package.name}
    assert (downloads / package.name).read_bytes() == package.read_bytes()


def test_a_kernel_that_the_mirror_has_no_more_is_not_replaced_unasked(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads = prepared(tmp_path / "image", package) / "downloads"
    (downloads / package.name).unlink()
    offered = """case "$1" in
        depends) echo '  Depends: linux-image-10.0-test' ;;
        show) case "$3" in linux-image-10.0-test) echo 'Version: 10.0-1' ;; esac ;;
    esac"""
    get = f"""case "$*" in
        *{PACKAGE.version}*) echo 'E: Version was not found' >&2; exit 100 ;;
        *) cp {package} . ;;
    esac"""
    path = commands(tmp_path / "bin", apt_get=get, apt_cache=offered)
    monkeypatch.setenv("PATH", path)
    with pytest.raises(BuildError, match="cannot be downloaded again") as caught:
        kernel.chosen(downloads)
    assert "Version was not found" in caught.value.why
    assert "--renew" in caught.value.fix
    assert list(kernel.chosen(downloads, renew=True)) == [
        kernel.Package("linux-image-10.0-test", "10.0-1")
    ]


def test_a_download_that_leaves_no_file_is_an_error(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads = prepared(tmp_path / "image", package) / "downloads"
    (downloads / package.name).unlink()
    monkeypatch.setenv("PATH", commands(tmp_path / "bin", apt_get="exit 0"))
    with pytest.raises(BuildError) as caught:
        kernel.chosen(downloads)
    assert "left no file" in caught.value.why


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "[7]", '[{"name": "a"}]', "\udcff"])
def test_a_damaged_choice_of_a_kernel_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / kernel.CHOICE).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BuildError, match=r"kernel\.json does not say") as caught:
        kernel.chosen(tmp_path)
    assert "--renew" in caught.value.fix


def test_a_package_whose_unpacking_ends_badly_is_named_although_its_files_were_read(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("dpkg-deb")
    monkeypatch.setenv(
        "PATH", commands(tmp_path / "bin", dpkg_deb=f'{real} "$@"; echo broken >&2; exit 2')
    )
    with pytest.raises(BuildError, match="cannot be unpacked") as caught:
        kernel.unpack({PACKAGE: package})
    assert caught.value.why == "broken"


@pytest.mark.parametrize("magic", [b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"])
def test_a_damaged_module_is_named(magic: bytes, require: Require) -> None:
    require("zstd")
    damaged = kernel.Kernel("9.9", b"", {"bridge": magic + b"cut off"}, frozenset())
    with pytest.raises(BuildError, match="module bridge cannot be unpacked") as caught:
        modules.plain(damaged, "bridge")
    assert caught.value.why
    assert "delete" in caught.value.fix
