"""The guest image: the same sources make the same bytes, and nothing is made twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY, Require
from guest_image import cpio, image, kernel, modules, programs
from guest_image.failure import BuildError, output

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


def make_package(folder: Path) -> Path:
    """Pack a kernel the way the distribution does, with modules that hold only their names."""
    tree = folder / "tree"
    home = tree / "lib/modules/9.9-test"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "boot").mkdir()
    (home / "kernel").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        "Package: linux-image-9.9-test\nVersion: 9.9-1\nArchitecture: amd64\n"
        "Maintainer: nobody <nobody@example.org>\nDescription: a kernel for tests\n"
    )
    (tree / "boot/vmlinuz-9.9-test").write_bytes(b"kernel" * 1000)
    for name, needs in SYSTEM.items():
        file = home / "kernel" / f"{name.replace('_', '-')}.ko"
        file.write_bytes(module(name, *needs) + SIGNATURE)
    (home / "modules.builtin").write_text("kernel/net/packet/af_packet.ko\n")
    path = folder / "linux-image-9.9-test_9.9-1.deb"
    subprocess.run(["dpkg-deb", "--build", tree, path], check=True, capture_output=True)
    return path


@pytest.fixture(name="package", scope="module")
def fixture_package(tmp_path_factory: pytest.TempPathFactory, require: Require) -> Path:
    for program in ("dpkg-deb", "gcc", "busybox", "dpdk-testpmd", "ldd"):
        require(program)
    return make_package(tmp_path_factory.mktemp("package"))


@pytest.fixture(name="built", scope="module")
def fixture_built(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = prepared(tmp_path_factory.mktemp("built") / "image", package)
    assert image.build(folder)
    return folder


@pytest.fixture(name="copy")
def fixture_copy(built: Path, tmp_path: Path) -> Path:
    """Return an image of the test's own, which is up to date."""
    return Path(shutil.copytree(built, tmp_path / "image"))


def prepared(folder: Path, package: Path) -> Path:
    """Return a folder for an image whose kernel has been downloaded already."""
    downloads = folder / "downloads"
    downloads.mkdir(parents=True)
    shutil.copy(package, downloads)
    chosen = [{"name": PACKAGE.name, "version": PACKAGE.version}]
    (downloads / kernel.CHOICE).write_text(json.dumps(chosen))
    return folder


def test_an_archive_is_what_the_kernel_reads() -> None:
    made = cpio.archive({"etc/a": cpio.file(b"text"), "l": cpio.link("etc/a")})
    assert made[:110] == (
        b"070701"
        + b"00000001"
        + b"000041ED"
        + b"00000000" * 2
        + b"00000002"
        + b"00000000" * 6
        + b"00000004"
        + b"00000000"
    )
    assert made[110:116] == b"etc\0\0\0"
    assert len(made) % 4 == 0


def test_cpio_unpacks_what_was_packed(tmp_path: Path, require: Require) -> None:
    require("cpio")
    made = cpio.archive(
        {"a/b/c": cpio.file(b"hello", executable=True), "a/l": cpio.link("b/c"), "e": cpio.folder()}
    )
    done = subprocess.run(["cpio", "-i", "--quiet"], input=made, cwd=tmp_path, check=True)
    assert done.returncode == 0
    assert (tmp_path / "a/l").read_bytes() == b"hello"
    assert (tmp_path / "a/b/c").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "e").is_dir()


def test_the_order_of_names_does_not_matter() -> None:
    one = {"b": cpio.file(b"1"), "a": cpio.file(b"2")}
    assert cpio.archive(one) == cpio.archive(dict(reversed(one.items())))


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


def test_equal_sources_make_equal_images(tmp_path: Path, package: Path, built: Path) -> None:
    other = prepared(tmp_path / "in another folder", package)
    assert image.build(other)
    for name in (*image.OUTPUTS, image.MANIFEST):
        assert (built / name).read_bytes() == (other / name).read_bytes()


def test_nothing_is_built_twice_and_all_is_when_the_agent_changes(
    tmp_path: Path, copy: Path
) -> None:
    agent = tmp_path / "agent"
    shutil.copytree(image.AGENT, agent)
    assert not image.build(copy, agent=agent)
    first = json.loads((copy / image.MANIFEST).read_text())["image"]
    with (agent / "main.c").open("a") as file:
        file.write("/* changed */\n")
    assert image.build(copy, agent=agent)
    assert json.loads((copy / image.MANIFEST).read_text())["image"] != first


def test_a_damaged_image_is_built_anew(copy: Path) -> None:
    whole = (copy / "initrd").read_bytes()
    (copy / "initrd").write_bytes(whole[:1000])
    assert image.build(copy)
    assert (copy / "initrd").read_bytes() == whole


def test_the_manifest_says_what_is_in_it(built: Path) -> None:
    manifest = json.loads((built / image.MANIFEST).read_text())
    assert manifest["versions"]["kernel"] == "9.9-test"
    assert {"name": PACKAGE.name, "version": PACKAGE.version} in manifest["packages"]
    assert "console=ttyS0" in manifest["append"]


def test_an_agent_that_does_not_compile_leaves_the_old_image(tmp_path: Path, copy: Path) -> None:
    agent = tmp_path / "agent"
    shutil.copytree(image.AGENT, agent)
    before = (copy / "initrd").read_bytes()
    (agent / "main.c").write_text("not C\n")
    with pytest.raises(BuildError, match="gcc"):
        image.build(copy, agent=agent)
    assert (copy / "initrd").read_bytes() == before
    assert not list(copy.glob(".new-*"))


def test_a_package_that_was_cut_off_is_named(copy: Path) -> None:
    (file,) = (copy / "downloads").glob("*.deb")
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(BuildError, match="cannot be unpacked") as caught:
        image.build(copy)
    assert str(file) in caught.value.fix


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


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BuildError, match="dpdk-testpmd") as caught:
        programs.find()
    assert "package dpdk-dev" in caught.value.fix


def commands(folder: Path, **scripts: str) -> str:
    """Return a search path on which these programs do as they are told here."""
    folder.mkdir()
    for name, script in scripts.items():
        file = folder / name.replace("_", "-")
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


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


def test_the_owners_of_a_file_are_read_past_diversions_and_where_several_share_it() -> None:
    said = """diversion by libc6 from: /lib64/ld-linux-x86-64.so.2
diversion by libc6 to: /lib64/ld-linux-x86-64.so.2.usr-is-merged
local diversion from: /lib64/a
libc6:amd64, libc6:i386: /lib64/ld-linux-x86-64.so.2
"""
    assert programs.owners_named(said) == ["libc6:amd64", "libc6:i386"]


def test_a_package_database_that_cannot_answer_does_not_fail_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = 'case "$1" in --search) echo "nobody: $2" ;; *) echo "no packages" >&2; exit 1 ;; esac'
    monkeypatch.setenv("PATH", commands(tmp_path / "bin", dpkg_query=query))
    assert programs.packages([Path("/bin/sh")]) == []


def test_tools_speak_english_and_see_nothing_that_changes_what_they_make(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH")
    for name in names:
        monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    seen = output(["env"], "").splitlines()
    assert "LC_ALL=C" in seen
    assert "LANGUAGE=" in seen
    assert not [line for line in seen if line.partition("=")[0] in names]


def test_where_programs_lie_and_how_tools_are_called_does_not_matter_but_their_versions_do(
    tmp_path: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busybox = shutil.which("busybox")
    assert busybox is not None
    other = commands(tmp_path / "bin")
    shutil.copy(busybox, tmp_path / "bin")
    monkeypatch.setenv("PATH", other)
    assert not image.build(copy)
    before = image.sources(copy / "downloads", image.AGENT).hash
    monkeypatch.setattr("zlib.ZLIB_RUNTIME_VERSION", "another")
    assert image.sources(copy / "downloads", image.AGENT).hash != before


def test_an_image_that_is_current_needs_no_right_to_write(copy: Path, require: Require) -> None:
    argv = [sys.executable, str(REPOSITORY / "vnfs/build"), "--output", str(copy)]
    if os.geteuid() == 0:
        require("setpriv")
        argv = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", *argv]
    for folder in (copy / "downloads", copy):
        folder.chmod(0o555)
    refused = subprocess.run([*argv[:-4], "touch", copy / "new"], capture_output=True, check=False)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    for folder in (copy / "downloads", copy):
        folder.chmod(0o755)
    assert refused.returncode != 0
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_was_built_can_be_read_by_all(tmp_path: Path, package: Path) -> None:
    folder = prepared(tmp_path / "image", package)
    mask = os.umask(0o077)
    try:
        assert image.build(folder)
    finally:
        os.umask(mask)
    for name in (*image.OUTPUTS, image.MANIFEST, ".lock"):
        assert (folder / name).stat().st_mode & 0o777 == 0o644


def test_a_full_disk_is_said_before_anything_is_written(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = prepared(tmp_path / "image", package)
    monkeypatch.setattr(image, "ROOM_BYTES", 1 << 62)
    with pytest.raises(BuildError, match="too little room"):
        image.build(folder)
    assert not (folder / image.MANIFEST).exists()


def test_a_command_that_fails_is_shown_with_its_last_words() -> None:
    with pytest.raises(BuildError) as caught:
        output(["/bin/sh", "-c", "echo it broke >&2; exit 7"], "mend it")
    assert caught.value.why == "it broke"
    assert str(caught.value).endswith("fix: mend it")


def test_the_program_refuses_a_folder_that_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    argv = ["python3", str(REPOSITORY / "vnfs/build"), "--output", str(tmp_path / "file")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
