"""Guests: their image, their kernel, and the agent in them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from assertions import known
from conftest import REPOSITORY, Require
from guest_image import cpio, image, kernel, modules, programs
from guest_image.failure import BuildError, output
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
from machine_tree import script
from ovs_traffic import wait_until

__all__ = ["fixture_package"]


# The guest image: the same sources make the same bytes, and nothing is made twice.


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


@pytest.mark.needs("cpio")
def test_cpio_unpacks_what_was_packed(tmp_path: Path) -> None:
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


def test_tgen_is_taken_from_where_it_was_built_and_a_guest_does_without_it(tmp_path: Path) -> None:
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
    busybox = known(shutil.which("busybox"))
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


# The kernel of a guest: chosen once, fetched whole, its modules in the order of their needs.


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


@pytest.mark.needs("dpkg-deb")
def test_a_kernel_is_found_in_one_package_or_spread_over_several(tmp_path: Path) -> None:
    """As in Debian up to 13, and from 14 on: the image is empty, and the kernel lies by modules."""
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
    monkeypatch.setenv("PATH", str(script(tmp_path / "bin" / "apt-cache", "exit 100").parent))
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
@pytest.mark.needs("zstd")
def test_a_damaged_module_is_named(magic: bytes) -> None:
    damaged = kernel.Kernel("9.9", b"", {"bridge": magic + b"cut off"}, frozenset())
    with pytest.raises(BuildError, match="module bridge cannot be unpacked") as caught:
        modules.plain(damaged, "bridge")
    assert caught.value.why
    assert "delete" in caught.value.fix


# The parts of the agent in the guest that need no guest: what it reads, and what it writes.

AGENT = Path(__file__).resolve().parents[2] / "vnfs" / "agent"
REQUEST = r'{"id":1,"verb":"start","nics":["52:54"],"deep":{"a\n":[1,-2,null,true]},"u":"\u0041\""}'
WHOLE = '{"id":1,"nics":["52:54"],"n":-12}'
GOOD = ('{"a":[1,-2,{"b":null}],"c":"\\u0041\\n","d":true}', " 18446744073709551615 ", "[]", WHOLE)
BAD = (
    *("", "{", "[1,]", '{"a":1,"a":2}', "1.5", "1e3", "01", '"\\x"', '"\n"', "[1]x", "nul"),
    *("[" * 1000, "-", '"\\u12"', "99999999999999999999", '{"a" 1}', '"abc'),
    *(WHOLE[:length] for length in range(1, len(WHOLE), 4)),
)
HALVES = ('{"a\\', '{"a\n', '["a\\', '"a\\', '"\\u', '{"a"', "[1")


@pytest.fixture(name="program", scope="module")
def fixture_program(tmp_path_factory: pytest.TempPathFactory, require: Require) -> Path:
    """Return a program that reads a request, or quotes bytes, under sanitizers."""
    require("gcc")
    folder = tmp_path_factory.mktemp("agent")
    (folder / "main.c").write_text(PROGRAM)
    argv = ["gcc", "-std=c11", "-D_DEFAULT_SOURCE", f"-I{AGENT}", "-o", "program", "main.c"]
    argv += [str(path) for path in sorted(AGENT.glob("*.c")) if path.name != "main.c"]
    argv += ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    subprocess.run(argv, cwd=folder, check=True)
    return folder / "program"


@pytest.mark.parametrize("text", GOOD)
def test_the_agent_reads_json(program: Path, text: str) -> None:
    assert subprocess.run([program, "read", text], check=False).returncode == 0


def test_a_request_that_breaks_off_anywhere_is_read_no_further_than_it_goes(program: Path) -> None:
    assert subprocess.run([program, "every-beginning", REQUEST], check=False).returncode == 0


@pytest.mark.parametrize("text", [*BAD, *HALVES])
def test_what_is_not_quite_json_is_refused_and_no_byte_behind_it_read(
    program: Path, text: str
) -> None:
    done = subprocess.run([program, "read", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


def test_what_an_application_wrote_becomes_at_most_twice_as_long(program: Path) -> None:
    said = bytes(range(1, 256))
    argv = [str(program).encode(), b"quote", said]
    done = subprocess.run(argv, capture_output=True, check=False)
    assert len(done.stdout) <= 2 * len(said) + 2
    assert json.loads(done.stdout) == "".join(
        chr(byte) if 0x20 <= byte < 0x7F or byte in b"\n\t" else "?" for byte in said
    )


@pytest.mark.parametrize(
    ("cpus", "workers", "word"),
    [(1, 1, "--lcores=0@0,1@0"), (2, 1, "--lcores=0-1"), (128, 127, "--lcores=0-127")],
)
def test_testpmd_gets_all_its_workers_however_many(
    program: Path, cpus: int, workers: int, word: str
) -> None:
    argv = [str(program), "lcores", f"{cpus} {workers}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, word)


# Programs that the agent runs: real ones, of this machine.

SHELL = "/bin/sh"
AWAIT = {"verb": "await"}
"""Waits for the end of a child, and tells which program it was; for the test only."""


def run_there(*words: str, number: int = 1, **more: object) -> dict[str, object]:
    return {"verb": "run", "program": number, "argv": list(words), **more}


def conversation(program: Path, folder: Path, *requests: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the answers to requests about programs, one after the other."""
    said = "".join(f"{json.dumps(one)}\n" for one in requests)
    argv = [str(program), "programs", str(folder)]
    done = subprocess.run(argv, input=said, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_what_a_program_writes_is_read_whole_in_pieces_and_how_it_ended_is_told(
    program: Path, tmp_path: Path
) -> None:
    lines = "seq 1 2000; echo out of it >&2; exit 3"
    pieces = [{"verb": "output", "program": 1, "from": 7000 * part} for part in range(3)]
    started, ended, *told = conversation(
        program, tmp_path, run_there(SHELL, "-c", lines), AWAIT, *pieces
    )
    assert started["done"] and (ended["ended"], ended["code"]) == (1, 3)
    text = "".join(one["text"] for one in told)
    assert text == "".join(f"{number}\n" for number in range(1, 2001)) + "out of it\n"
    assert {one["size"] for one in told} == {len(text)}


def test_a_program_that_writes_without_end_is_ended_by_the_kernel(
    program: Path, tmp_path: Path
) -> None:
    yes = known(shutil.which("yes"))
    asked = run_there(yes), AWAIT, {"verb": "output", "program": 1, "from": 4 << 20}
    _, ended, told = conversation(program, tmp_path, *asked)
    assert ended["signal"] == signal.SIGXFSZ
    assert (told["size"], told["text"]) == ((4 << 20) + 1, "y")


def test_programs_become_what_they_are_at_the_instant_and_wait_for_nobody(
    program: Path, tmp_path: Path
) -> None:
    """The second one was due long ago, and ends while the first one waits for an hour."""
    instant_ns = time.monotonic_ns() + 500_000_000
    waits = run_there("/bin/true", instant_ns=instant_ns + 3_600_000_000_000)
    late = run_there("/bin/true", number=2, instant_ns=1)
    due = run_there(SHELL, "-c", "cat /proc/uptime", number=3, instant_ns=instant_ns)
    output, end = {"verb": "output", "program": 3}, {"verb": "end", "program": 1}
    asked = waits, late, AWAIT, due, AWAIT, output, end
    _, _, first, _, second, told, ended = conversation(program, tmp_path, *asked)
    assert (first["ended"], second["ended"], ended["done"]) == (2, 3, True)
    assert float(told["text"].split()[0]) >= instant_ns / 1e9 - 0.02  # it is told in hundredths


def test_a_program_is_ended_with_all_that_it_started_and_its_number_is_free_again(
    program: Path, tmp_path: Path
) -> None:
    marker = f"60.{os.getpid()}"
    serving = run_there(SHELL, "-c", f"sleep {marker} & sleep {marker}; true")
    end = {"verb": "end", "program": 1}
    started, taken, ended, again, gone = conversation(
        program, tmp_path, serving, serving, end, serving, end
    )
    assert started["done"] and ended["done"] and again["done"] and gone["done"]
    assert taken["wrong"] == "there is a program 1 already"
    assert list(tmp_path.iterdir()) == []
    wait_until(lambda: subprocess.run(["pgrep", "-f", marker], check=False).returncode == 1)


def file_of(text: object = "", number: int = 1, name: str = "own.conf") -> dict[str, object]:
    return {"verb": "file", "program": number, "name": name, "text": text}


def test_a_program_finds_what_was_written_for_it_in_a_folder_that_goes_with_it(
    program: Path, tmp_path: Path
) -> None:
    parts: list[Mapping[str, Any]] = [
        file_of('say "one";\n'),
        file_of("\ttwo\n"),
        file_of(name="empty"),
    ]
    reads = "cat own.conf; wc -c empty; mkdir -p deep/er; echo x >deep/er/behind"
    asked: tuple[Mapping[str, Any], ...] = (
        *parts,
        run_there(SHELL, "-c", reads),
        AWAIT,
        {"verb": "output", "program": 1},
        file_of("late"),
        {"verb": "end", "program": 1},
        file_of("for nobody", number=2),
        {"verb": "end", "program": 2},
    )
    *written, started, ended, told, late, gone, alone, undone = conversation(
        program, tmp_path, *asked
    )
    assert all(one["done"] for one in (*written, started, gone, alone, undone))
    assert ended["code"] == 0
    assert told["text"] == 'say "one";\n\ttwo\n0 empty\n'
    assert late["wrong"] == "there is a program 1 already"
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_of_a_program_is_refused(program: Path, tmp_path: Path) -> None:
    bad = ("", ".", "..", ".own", "../own.conf", "/own.conf", "x" * 65)
    asked = [*(file_of("x", name=name) for name in bad), file_of(7)]
    for answer in conversation(program, tmp_path, *asked):
        assert not answer["done"] and "is no name of a file" in answer["wrong"]
    (answer,) = conversation(program, tmp_path, file_of("x", number=65))
    assert "is no number from 1 to 64" in answer["wrong"]
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_program_is_refused_in_words(program: Path, tmp_path: Path) -> None:
    refused = {
        "is no number from 1 to 64": run_there(SHELL, number=65),
        "is no list of 1 to 64 strings": run_there(),
        "list of 1 to 64 strings": run_there(*([SHELL] * 65)),
        "something that is no string": {**run_there(), "argv": [SHELL, 1]},
        "begins with no whole path": run_there("sh"),
        '"instant_ns" is no time': run_there(SHELL, instant_ns=-1),
        "there is no program 2": {"verb": "output", "program": 2},
        "there is no program 3": {"verb": "end", "program": 3},
        '"port" is no number': {"verb": "listens", "port": 65536},
    }
    answers = conversation(program, tmp_path, *refused.values())
    for wanted, answer in zip(refused, answers, strict=True):
        assert not answer["done"] and wanted in answer["wrong"]
    far = {"verb": "output", "program": 1, "from": (4 << 20) + 2}
    started, _, beyond = conversation(program, tmp_path, run_there("/bin/true"), AWAIT, far)
    assert started["done"] and '"from" is no number' in beyond["wrong"]
    _, ended, told = conversation(
        program, tmp_path, run_there("/no/such"), AWAIT, {"verb": "output", "program": 1}
    )
    assert ended["code"] == 126
    assert "cannot run /no/such: No such file" in told["text"]


def test_a_port_is_listened_at_by_whoever_can_be_called_there(
    program: Path, tmp_path: Path
) -> None:
    kinds = socket.SOCK_STREAM, socket.SOCK_DGRAM
    with ExitStack() as stack:
        calls, datagrams = (stack.enter_context(socket.socket(type=kind)) for kind in kinds)
        for one in (calls, datagrams):
            one.bind(("127.0.0.1", 0))
        calls.listen()
        ports = [one.getsockname()[1] for one in (calls, datagrams)]
        near = stack.enter_context(socket.create_connection(calls.getsockname()))
        asked = [{"verb": "listens", "port": port} for port in (*ports, near.getsockname()[1])]
        found = [one["listens"] for one in conversation(program, tmp_path, *asked)]
    assert found == [True, True, False], "the last one is connected, and takes no calls"


PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "application.h"
#include "json.h"
#include "place.h"
#include "programs.h"
#include "text.h"

/* Takes requests about programs as the agent does, a line each. */
static int
talk(const char *folder)
{
	static struct programs programs;
	static struct json json;
	static char line[16384], bytes[16384], why[512];

	programs_init(&programs, folder);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		struct text answer, wrong;
		const char *verb;
		bool done = true;

		text_init(&answer, bytes, sizeof(bytes));
		text_init(&wrong, why, sizeof(why));
		line[strcspn(line, "\n")] = 0;
		if (json_read(&json, line) != NULL)
			return 3;
		verb = json_string(&json, json_member(&json, 1, "verb"));
		if (strcmp(verb, "await") == 0) {
			int status;
			pid_t pid = waitpid(-1, &status, 0);

			text_format(&answer, ",\"ended\":%u,\"signal\":%d,\"code\":%d",
				programs_ended(&programs, pid),
				WIFSIGNALED(status) ? WTERMSIG(status) : 0, WEXITSTATUS(status));
		} else if (strcmp(verb, "file") == 0)
			done = programs_file(&programs, &json, 1, &wrong);
		else if (strcmp(verb, "run") == 0)
			done = programs_run(&programs, &json, 1, &wrong);
		else if (strcmp(verb, "output") == 0)
			done = programs_output(&programs, &json, 1, &answer, &wrong);
		else if (strcmp(verb, "end") == 0)
			done = programs_end(&programs, &json, 1, &wrong);
		else
			done = place_listens(&json, 1, &answer, &wrong);
		printf("{\"done\":%s%s,\"wrong\":", done ? "true" : "false", bytes);
		text_init(&answer, bytes, sizeof(bytes));
		text_quote(&answer, why, wrong.length);
		printf("%s}\n", bytes);
		fflush(stdout);
	}
	return 0;
}

/* In memory that ends where the text does. */
static int
is_wrong(const char *text, size_t length)
{
	static struct json json;
	char *copy = malloc(length + 1);
	int wrong;

	memcpy(copy, text, length);
	copy[length] = 0;
	wrong = json_read(&json, copy) != NULL;
	free(copy);
	return wrong;
}

int
main(int argc, char **argv)
{
	static char bytes[4096];
	struct text text;

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "programs") == 0)
		return talk(argv[2]);
	if (strcmp(argv[1], "read") == 0)
		return is_wrong(argv[2], strlen(argv[2]));
	if (strcmp(argv[1], "quote") == 0) {
		text_init(&text, bytes, sizeof(bytes));
		text_quote(&text, argv[2], strlen(argv[2]));
		return fwrite(bytes, text.length, 1, stdout) != 1;
	}
	if (strcmp(argv[1], "lcores") == 0) {
		static struct application application;
		unsigned int cpus = 0, workers = 0;

		sscanf(argv[2], "%u %u", &cpus, &workers);
		text_init(&application.storage, application.bytes, sizeof(application.bytes));
		testpmd_lcores(&application, cpus, workers);
		return application.argc != 1 || fputs(application.argv[0], stdout) < 0;
	}
	for (size_t length = 0; length < strlen(argv[2]); length++) {
		if (!is_wrong(argv[2], length))
			return 3;
	}
	return is_wrong(argv[2], strlen(argv[2]));
}
"""
