"""The image: what it is made of, what is in it, and whether the one on disk is still right."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import cpio, kernel, modules, programs
from .failure import BuildError, output, program

RECIPE = Path(__file__).resolve().parent
AGENT = RECIPE.parent / "agent"
OUTPUTS = ("vmlinuz", "initrd")
MANIFEST = "manifest.json"
COMPILER = ("-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-Wall", "-Wextra", "-static", "-s")
NO_COMPILER = "install the packages gcc and libc6-dev; `make setup` does so"
APPEND = (
    "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check "
    "random.trust_cpu=on ipv6.disable=1 nokaslr cryptomgr.notests apparmor=0 nowatchdog"
)
"""Words for the kernel: say little, restart instead of hanging, check nothing that a virtual
machine need not check, and let it say nothing on its NICs by itself."""
GZIP = 16 + zlib.MAX_WBITS
"""The form of the archive; its header holds neither a time nor a name."""
ROOM_BYTES = 200 << 20
FOLDERS = ("dev", "proc", "root", "run", "sys", "tmp", "var")


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that an image is made of."""

    packages: Mapping[kernel.Package, Path]
    programs: programs.Programs
    agent: tuple[Path, ...]
    hashes: Mapping[str, str]

    @property
    def hash(self) -> str:
        """One name for all of it: equal sources make equal images."""
        return _hash(json.dumps(dict(sorted(self.hashes.items()))).encode())


def build(folder: Path, *, renew: bool = False, agent: Path = AGENT) -> bool:
    """Bring the image in `folder` up to date; False if it was."""
    try:
        (folder / "downloads").mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            found = sources(folder / "downloads", agent, renew=renew)
            if is_current(folder, found.hash):
                return False
            _check_room(folder)
            _write(folder, found)
    except OSError as error:
        raise BuildError(
            f"the guest image cannot be written to {folder}",
            str(error),
            "see to room and permissions there, or name another folder: --output FOLDER",
        ) from error
    return True


def sources(downloads: Path, agent: Path, *, renew: bool = False) -> Sources:
    """Return what an image would be made of now."""
    packages = kernel.chosen(downloads, renew=renew)
    found = programs.find()
    code = tuple(sorted(path for path in agent.iterdir() if path.suffix in {".c", ".h"}))
    recipe = sorted(RECIPE.glob("*.py"))
    compiler = program("gcc", "gcc")
    library = Path(output([compiler, "-print-file-name=libc.a"], NO_COMPILER).strip())
    if not library.is_absolute():
        raise BuildError("the agent cannot be linked", "there is no libc.a", NO_COMPILER)
    hashes = {
        **{f"packages/{path.name}": _file_hash(path) for path in packages.values()},
        **{f"programs/{path.name}": _file_hash(path) for path in found.files},
        **{f"agent/{path.name}": _file_hash(path) for path in code},
        **{f"recipe/{path.name}": _file_hash(path) for path in recipe},
        "compiler": _hash(output([compiler, "--version"], NO_COMPILER).encode()),
        **{tool: _hash(_tool_version(compiler, tool)) for tool in ("as", "ld")},
        "libc.a": _file_hash(library),
        "zlib": _hash(zlib.ZLIB_RUNTIME_VERSION.encode()),
    }
    return Sources(packages, found, code, hashes)


def is_current(folder: Path, sources_hash: str) -> bool:
    """Tell whether the image on disk is whole and made of these sources."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        whole = all(_file_hash(folder / name) == manifest["outputs"][name] for name in OUTPUTS)
        return bool(whole and manifest["image"] == sources_hash)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def entries(
    found: Sources, system: kernel.Kernel, agent: bytes, about: str
) -> dict[str, cpio.Entry]:
    """Return what is in the initramfs."""
    lists = modules.ordered(system)
    loaded = sorted({name for names in lists.values() for name in names})
    libc = next(path for path in found.programs.libraries if path.name == "libc.so.6")
    home = str(libc.parent).removeprefix("/usr").strip("/")
    return {
        **{name: cpio.folder() for name in FOLDERS},
        "dev/console": cpio.character_device(5, 1),
        "var/run": cpio.link("/run"),
        "init": cpio.file(agent, executable=True),
        "etc/image.json": cpio.file(about.encode()),
        **{
            f"etc/modules.{name}": cpio.file(
                "".join(f"/modules/{each}.ko\n" for each in names).encode()
            )
            for name, names in lists.items()
        },
        **{f"modules/{name}.ko": cpio.file(modules.plain(system, name)) for name in loaded},
        "bin/busybox": _copied(found.programs.busybox),
        **{
            f"bin/{name}": cpio.link("busybox")
            for name in programs.applets(found.programs.busybox)
            if name != "busybox"
        },
        "usr/bin/dpdk-testpmd": _copied(found.programs.testpmd),
        **({} if found.programs.tgen is None else {"usr/bin/tgen": _copied(found.programs.tgen)}),
        str(found.programs.loader).strip("/"): _copied(found.programs.loader),
        **{f"{home}/{path.name}": _copied(path) for path in found.programs.libraries},
        # DPDK loads a folder's files only by this name, or with a version that is not the soname's.
        **{
            f"lib/dpdk/{path.name.partition('.so')[0]}.so": _copied(path)
            for path in found.programs.drivers
        },
    }


def compile_agent(code: tuple[Path, ...]) -> bytes:
    """Return the agent: one static program, the same whatever folder it is compiled in."""
    with tempfile.TemporaryDirectory(prefix="vsperf-agent-") as folder:
        for path in code:
            shutil.copy(path, folder)
        names = [path.name for path in code if path.suffix == ".c"]
        compiler = program("gcc", "gcc")
        output([compiler, *COMPILER, "-o", "agent", *names], NO_COMPILER, cwd=Path(folder))
        return (Path(folder) / "agent").read_bytes()


def pack(archive: bytes) -> bytes:
    """Return the archive as the kernel unpacks it."""
    return zlib.compress(archive, 6, wbits=GZIP)


def _write(folder: Path, found: Sources) -> None:
    system = kernel.unpack(found.packages)
    versions = {"kernel": system.release, **programs.versions(found.programs)}
    if found.programs.tgen is not None:
        versions["tgen"] = _file_hash(found.programs.tgen)[:12]
    about = f'"image":"{found.hash}","versions":{json.dumps(versions)}'
    archive = cpio.archive(entries(found, system, compile_agent(found.agent), about))
    outputs = {"vmlinuz": system.image, "initrd": pack(archive)}
    of_programs = programs.packages(found.programs.files)
    manifest = {
        "image": found.hash,
        "append": APPEND,
        "versions": versions,
        "outputs": {name: _hash(content) for name, content in outputs.items()},
        "packages": [asdict(package) for package in (*found.packages, *of_programs)],
        "sources": dict(sorted(found.hashes.items())),
    }
    files = {**outputs, MANIFEST: (json.dumps(manifest, indent=2) + "\n").encode()}
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as beside:
        for name, content in files.items():
            (Path(beside) / name).write_bytes(content)
            (Path(beside) / name).chmod(0o644)
        # Without a manifest there is no image: nobody may take half of one for whole.
        (folder / MANIFEST).unlink(missing_ok=True)
        for name in files:
            (Path(beside) / name).replace(folder / name)


def _check_room(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < ROOM_BYTES:
        raise BuildError(
            f"there is too little room for the guest image in {folder}",
            f"{free >> 20} MB are free, and building takes up to {ROOM_BYTES >> 20} MB",
            "make room there, or name another folder: --output FOLDER",
        )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait for another build in this folder; the one after it finds all done.

    Whoever cannot write there may still find the image current, so the lock is only read.
    """
    descriptor = _lock(folder / ".lock")
    if descriptor is None:
        # Nobody makes files in this folder, so nobody builds in it either.
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _lock(path: Path) -> int | None:
    """Return the lock, opened; nothing if it is not there and cannot be made."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
                return None
            raise
    with suppress(OSError):
        os.fchmod(descriptor, 0o644)
    return descriptor


def _copied(path: Path) -> cpio.Entry:
    return cpio.file(path.read_bytes(), executable=True)


def _tool_version(compiler: Path, tool: str) -> bytes:
    """Return what a tool that the compiler runs says of itself."""
    name = output([compiler, f"-print-prog-name={tool}"], NO_COMPILER).strip()
    return output([name, "--version"], NO_COMPILER).encode()


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _file_hash(path: Path) -> str:
    return _hash(path.read_bytes())
