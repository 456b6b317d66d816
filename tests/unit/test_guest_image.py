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
from guest_image import cpio, image, programs
from guest_image.failure import BuildError, output
from guest_kernels import (
    PACKAGE,
    commands,
    fixture_package,
    prepared,
)

__all__ = ["fixture_package"]


@pytest.fixture(name="built", scope="module")
def fixture_built(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = prepared(tmp_path_factory.mktemp("built") / "image", package)
    assert image.build(folder)
    return folder


@pytest.fixture(name="copy")
def fixture_copy(built: Path, tmp_path: Path) -> Path:
    """Return an image of the test's own, which is up to date."""
    return Path(shutil.copytree(built, tmp_path / "image"))


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


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BuildError, match="dpdk-testpmd") as caught:
        programs.find()
    assert "package dpdk-dev" in caught.value.fix


def test_tgen_is_taken_from_where_it_was_built_and_a_guest_does_without_it(
    tmp_path: Path,
) -> None:
    built = tmp_path / "build" / "tgen" / "tgen"
    assert programs.find_tgen({}, tmp_path) is None
    built.parent.mkdir(parents=True)
    shutil.copy("/bin/true", built)
    assert programs.find_tgen({}, tmp_path) == built
    other = tmp_path / "build" / "tgen-guest" / "tgen"
    other.parent.mkdir()
    shutil.copy("/bin/true", other)
    assert programs.find_tgen({}, tmp_path) == other, "QEMU may not emulate this processor"
    assert programs.find_tgen({programs.TGEN: "/bin/false"}, tmp_path) == Path("/bin/false")
    assert programs.find_tgen({programs.TGEN: "/nonexistent"}, tmp_path) is None


def test_the_owners_of_a_file_are_read_past_diversions_and_where_several_share_it() -> None:
    said = """diversion by libc6 from: /lib64/ld-linux-x86-64.so.2
diversion by libc6 to: /lib64/ld-linux-x86-64.so.2.usr-is-merged
local diversion from: /lib64/a
libc6:amd64, libc6:i386: /lib64/ld-linux-x86-64.so.2
"""
    assert programs.owners_named(said) == {
        "/lib64/ld-linux-x86-64.so.2": ["libc6:amd64", "libc6:i386"]
    }


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
        kept = "-all,+dac_read_search"  # the checkout may lie in somebody's own folder
        argv = ["setpriv", f"--inh-caps={kept}", f"--bounding-set={kept}", *argv]
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
