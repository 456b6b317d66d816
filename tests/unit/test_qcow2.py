"""Images that name other files: only what lies beside them is opened for a guest."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from all_wrong import hold_each
from attacker import as_nobody, town

from vsperf.drivers.vnfs.qemu.checks import check_image, check_kernel, check_ram_disk
from vsperf.errors import NotReadyError
from vsperf.qemu.qcow2 import BACKING_FORMAT, DATA_ELSEWHERE, MAGIC, named_in, why_not_alone

V2_HEADER, V3_HEADER = 72, 104


def image(
    path: Path,
    backing: str = "",
    layout: str = "qcow2",
    *,
    features: int = 0,
    version: int = 3,
    layout_behind: str = "",
) -> Path:
    """Write the header of an image; `layout_behind` stands where nobody looks for a format."""
    length = V3_HEADER if version == 3 else V2_HEADER
    extensions = _extension(layout) if layout else b""
    extensions += struct.pack(">II", 0, 0)
    at = length + len(extensions) if backing else 0
    name = backing.encode()
    head = struct.pack(">4sIQI", MAGIC, version, at, len(name)).ljust(V2_HEADER, b"\0")
    if version == 3:
        head += struct.pack(">QQQII", features, 0, 0, 4, length)
    behind = _extension(layout_behind) if layout_behind else b""
    path.write_bytes((head + extensions + name + behind).ljust(4096, b"\0"))
    return path


def _extension(layout: str) -> bytes:
    text = layout.encode()
    return struct.pack(">II", BACKING_FORMAT, len(text)) + text.ljust(-(-len(text) // 8) * 8, b"\0")


def raw(path: Path) -> Path:
    path.write_bytes(bytes(512))
    return path


WRITERS: Mapping[str, Callable[[Path], Path]] = {"qcow2": image, "raw": raw}


def planted(write: Callable[[Path], Path], path: Path) -> str:
    """Write a file; return what JSON can carry."""
    return str(write(path))


def test_an_image_that_names_nothing_is_taken(tmp_path: Path) -> None:
    for version in (2, 3):
        assert why_not_alone(image(tmp_path / "disk", version=version)) is None


def test_what_lies_beside_it_is_taken(tmp_path: Path) -> None:
    raw(tmp_path / "base.img")
    image(tmp_path / "middle.qcow2", "base.img", "raw", version=2)
    for named in ("middle.qcow2", str(tmp_path / "middle.qcow2"), "./middle.qcow2"):
        assert why_not_alone(image(tmp_path / "disk", named)) is None


def test_an_image_that_names_what_does_not_lie_beside_it_is_refused(tmp_path: Path) -> None:
    """The guest would read it: QEMU opens it with the rights of root, before it lets go of them."""
    folder, secret = tmp_path / "images", raw(tmp_path / "secret")
    folder.mkdir()
    (folder / "link").symlink_to(secret)
    raw(folder / "nbd:localhost:10809")
    (folder / "folder").mkdir()
    wanted = (
        *("/etc/passwd", "/dev/null", "../secret", str(secret), "link", "folder", "gone", "."),
        *("nbd:localhost:10809", 'json:{"driver":"file","filename":"/etc/passwd"}', "http://x/y"),
    )

    def check(named: str) -> None:
        why = why_not_alone(image(folder / "disk", named, "raw"))
        assert why == f"its backing file {named} is no file that lies beside it"

    hold_each(wanted, check)


@pytest.mark.usefixtures("never_waits")
def test_what_lies_behind_is_held_to_the_same(tmp_path: Path) -> None:
    image(tmp_path / "base", "/etc/passwd", "raw")
    assert "its backing file /etc/passwd" in str(why_not_alone(image(tmp_path / "disk", "base")))
    image(tmp_path / "round", "round")
    assert "images lie behind it" in str(why_not_alone(tmp_path / "round"))
    raw(tmp_path / "text").write_bytes(b"# Disk DescriptorFile: names what it likes\n" * 9)
    with pytest.raises(ValueError, match="damaged"):
        why_not_alone(image(tmp_path / "disk", "text"))


@pytest.mark.parametrize("layout", ["", "vmdk", "luks", "raw\0", "RAW"])
def test_a_format_that_qemu_would_guess_or_that_names_more_is_refused(
    layout: str, tmp_path: Path
) -> None:
    raw(tmp_path / "base")
    for behind in ("", "raw"):  # behind the name nobody reads it, least of all QEMU
        found = why_not_alone(image(tmp_path / "disk", "base", layout, layout_behind=behind))
        assert found == "it does not say that its backing file is raw or qcow2"


def test_data_elsewhere_are_refused(tmp_path: Path) -> None:
    found = why_not_alone(image(tmp_path / "disk", features=DATA_ELSEWHERE))
    assert found == "its data are in another file, which it names"


def test_a_header_that_is_none_is_an_error(tmp_path: Path) -> None:
    whole = image(tmp_path / "disk", "base").read_bytes()
    for content in (b"", MAGIC, whole[:80], whole[4:], MAGIC + b"\xff" * 200):
        with pytest.raises(ValueError, match="header is"):
            named_in(content)


def made(path: Path, *words: str) -> Path:
    """Have QEMU's own tool make an image."""
    argv = ("qemu-img", "create", "-q", "-f", "qcow2", *words, str(path), "1M")
    subprocess.run(argv, check=True, cwd=path.parent)
    return path


@pytest.mark.needs("qemu-img")
def test_an_image_that_qemu_itself_has_made_is_read_in_the_same_way(tmp_path: Path) -> None:
    (folder := tmp_path / "images").mkdir()
    secret, beside = raw(tmp_path / "secret"), raw(folder / "base.img")
    for version in ("0.10", "1.1"):
        old = ("-o", f"compat={version}")
        for named in (str(secret), "../secret"):
            one = made(folder / "disk", *old, "-F", "raw", "-b", named)
            assert why_not_alone(one) == f"its backing file {named} is no file that lies beside it"
            with pytest.raises(NotReadyError, match="vm1 cannot be started from"):
                check_image("vm1", one, bootable=True)
        for own in ((), ("-F", "raw", "-b", beside.name), ("-F", "raw", "-b", str(beside))):
            check_image("vm1", made(folder / "disk", *old, *own), bootable=True)
        middle = made(folder / "middle", *old, "-F", "raw", "-b", str(secret))
        one = made(folder / "disk", *old, "-F", "qcow2", "-b", middle.name)
        assert f"its backing file {secret}" in str(why_not_alone(one))
    one = made(folder / "disk", "-o", f"data_file={tmp_path / 'data'},data_file_raw=on")
    assert why_not_alone(one) == "its data are in another file, which it names"


@pytest.mark.needs("root")
def test_what_another_user_can_exchange_before_qemu_opens_it_is_refused() -> None:
    """What was looked at would be something else by then, such as a link to a disk of the host."""
    with town() as here:
        theirs = here.tmp / "theirs"
        as_nobody(theirs.mkdir)
        for write in WRITERS.values():
            as_nobody(partial(planted, write, theirs / "disk"))
            looks = (partial(check_image, bootable=False), check_ram_disk, check_kernel)
            for look in looks:
                with pytest.raises(NotReadyError, match="cannot be started from") as refused:
                    look("vm1", theirs / "disk")
                (problem,) = refused.value.problems
                assert f"before QEMU opens it: {theirs} belongs to nobody" in str(problem.why)
                assert "copy it to where nobody else can change it" in str(problem.fix)
        for layout, write in WRITERS.items():
            ours = image(here.run / "disk", f"base-{layout}", layout)
            behind = write(here.run / f"base-{layout}")
            assert why_not_alone(ours) is None
            behind.chmod(0o666)
            assert "can be written to by others" in str(why_not_alone(ours))


def test_a_guest_is_not_started_from_such_an_image_and_it_is_said_how_to_mend_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never: Callable[..., None] = lambda *_: pytest.fail("QEMU's tool was asked")  # noqa: E731
    monkeypatch.setattr("vsperf.drivers.vnfs.qemu.checks._ask_tool", never)
    path = image(tmp_path / "disk.qcow2", "/etc/passwd", "raw")
    with pytest.raises(NotReadyError, match="vm1 cannot be started from") as refused:
        check_image("vm1", path, bootable=True)
    assert "qemu-img rebase" in str(refused.value.problems[0].fix)
