"""The guest's kernel: downloaded as the distribution packages it, and never installed.

Once downloaded a kernel stays, whatever the package lists say meanwhile: a guest that changes by
itself would change what is measured with it. A new one is asked for.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from .failure import BuildError, environment, output, program

METAPACKAGES = ("linux-image-cloud-amd64", "linux-image-virtual", "linux-image-amd64")
"""Which name the kernel of the distribution: small ones first. Debian, Ubuntu, Debian."""
APART = ("binary", "modules", "modules-extra")
"""What distributions pack apart from the image, if they do. Debian from 14 on, Ubuntu, Ubuntu."""
KERNEL = re.compile(r"/boot/vmlinuz-(?P<old>.+)$|/modules/(?P<new>[^/]+)/vmlinuz$")
"""Where it lies in a package, with its release: the second one in Debian from 14 on."""
CHOICE = "kernel.json"
ONLINE = "connect this machine to its package mirror, run `apt-get update`, and build again"


@dataclass(frozen=True, slots=True)
class Package:
    """A package of the distribution, at one version."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """What is in the kernel's packages."""

    release: str
    image: bytes
    modules: Mapping[str, bytes]
    """By name, as they are packed in the package; names have no dashes."""
    builtin: frozenset[str]


def chosen(downloads: Path, *, renew: bool = False) -> dict[Package, Path]:
    """Return the kernel's packages and their files, which are downloaded if they are not there.

    What was chosen once is downloaded again where it is missing: another kernel is only taken
    when `renew` asks for it.
    """
    choice = downloads / CHOICE
    if not renew and choice.is_file():
        return {package: _again(downloads, package) for package in _recorded(choice)}
    files = {package: _download(downloads, package) for package in _candidates()}
    fresh = choice.with_suffix(".new")
    fresh.write_text(json.dumps([asdict(package) for package in files], indent=2) + "\n")
    fresh.chmod(0o644)
    fresh.replace(choice)
    return files


def _recorded(choice: Path) -> list[Package]:
    """Return the packages that were chosen before."""
    try:
        packages = [Package(**each) for each in json.loads(choice.read_bytes())]
        if not packages or not all(
            isinstance(word, str) for each in packages for word in (each.name, each.version)
        ):
            raise ValueError("it names no packages with their versions")
    except (ValueError, TypeError) as error:
        raise BuildError(
            f"{choice} does not say which kernel was chosen",
            str(error),
            "build with --renew, which takes the distribution's present kernel and records it",
        ) from error
    return packages


def _again(downloads: Path, package: Package) -> Path:
    """Return the file of a package that was chosen before."""
    try:
        return _download(downloads, package)
    except BuildError as error:
        raise BuildError(
            f"the guest's kernel cannot be downloaded again: {package.name} {package.version}",
            error.why,
            f"{ONLINE}; if the mirror has this version no more, build with --renew, which takes "
            "the distribution's present kernel: results with it are those of another guest",
        ) from error


def unpack(files: Mapping[Package, Path]) -> Kernel:
    """Return the kernel and its modules."""
    image, release = b"", ""
    modules: dict[str, bytes] = {}
    builtin: set[str] = set()
    for path in files.values():
        for name, content in _members(path):
            base = name.rpartition("/")[2]
            if found := KERNEL.search(name):
                image, release = content, found["old"] or found["new"]
            elif base == "modules.builtin":
                builtin |= {_module_name(line) for line in content.decode().split()}
            else:
                modules[_module_name(name)] = content
    if not image:
        raise BuildError(
            "the downloaded packages hold no kernel",
            f"there is no vmlinuz in {', '.join(path.name for path in files.values())}",
            "delete these files and build again, which downloads them anew",
        )
    return Kernel(release, image, modules, frozenset(builtin))


def _members(package: Path) -> list[tuple[str, bytes]]:
    """Return the files of a package that may be of use: the kernel and all modules."""
    wanted = re.compile(rf"{KERNEL.pattern}|\.ko(\.\w+)?$|/modules\.builtin$")
    argv = [str(program("dpkg-deb", "dpkg")), "--fsys-tarfile", str(package)]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(  # noqa: S603 - an argument vector of our own
            argv, stdout=subprocess.PIPE, stderr=errors, env=environment()
        ) as unpacking,
    ):
        assert unpacking.stdout is not None
        why = ""
        files: list[tuple[str, bytes]] = []
        try:
            with tarfile.open(fileobj=unpacking.stdout, mode="r|") as archive:
                files = [
                    (member.name, data.read())
                    for member in archive
                    if member.isfile() and wanted.search(member.name)
                    if (data := archive.extractfile(member)) is not None
                ]
        except tarfile.TarError as error:
            why = str(error)
        # An archive ends before its padding does, and who writes that must not find a closed pipe.
        while unpacking.stdout.read(1 << 20):
            pass
        status = unpacking.wait()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
    if why or status:
        raise BuildError(
            f"{package} cannot be unpacked",
            said or why or f"dpkg-deb ended with {status} and said nothing",
            f"delete it and build again: {package}",
        )
    return files


def _module_name(path: str) -> str:
    return path.rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def _candidates() -> list[Package]:
    """Return what the package lists offer: the kernel, and where its modules are packed apart."""
    apt_cache = program("apt-cache", "apt")
    for metapackage in METAPACKAGES:
        depends = _depends(apt_cache, metapackage)
        image = next((name for name in depends if re.match(r"linux-image-\d", name)), None)
        if image is None:
            continue
        release = image.removeprefix("linux-image-")
        names = [image, *(f"linux-{part}-{release}" for part in APART)]
        versions = {name: _version(apt_cache, name) for name in names}
        return [Package(name, version) for name, version in versions.items() if version]
    raise BuildError(
        "no kernel for the guest is known",
        f"the package lists of this machine name none of {', '.join(METAPACKAGES)}",
        ONLINE,
    )


def _depends(apt_cache: Path, package: str) -> list[str]:
    said = _asked([apt_cache, "depends", "--important", package])
    return re.findall(r"^\s*Depends: (\S+)", said, re.MULTILINE)


def _version(apt_cache: Path, package: str) -> str | None:
    said = _asked([apt_cache, "show", "--no-all-versions", package])
    found = re.search(r"^Version: (\S+)", said, re.MULTILINE)
    return found[1] if found else None


def _asked(argv: list[str | Path]) -> str:
    """Return what the package lists say; nothing about a package that they do not know."""
    try:
        return output(argv, ONLINE)
    except BuildError:
        return ""


def _file(downloads: Path, package: Package) -> Path:
    return downloads / f"{package.name}_{package.version.replace(':', '%3a')}.deb"


def _download(downloads: Path, package: Package) -> Path:
    """Return the package's file; one that was interrupted leaves nothing."""
    path = _file(downloads, package)
    if path.is_file():
        return path
    argv: list[str | Path] = [program("apt-get", "apt"), "--quiet", "download"]
    if os.geteuid() == 0:
        # apt's own user has no business in this folder.
        argv += ["--option", "APT::Sandbox::User=root"]
    with tempfile.TemporaryDirectory(dir=downloads, prefix=".download-") as folder:
        output([*argv, f"{package.name}={package.version}"], ONLINE, cwd=Path(folder))
        file = next(iter(Path(folder).glob("*.deb")), None)
        if file is None:
            raise BuildError(
                f"the package {package.name} {package.version} was not downloaded",
                "apt-get ended well and left no file",
                "see what `apt-get download` says to it by hand; its options may forbid downloads",
            )
        file.chmod(0o644)
        shutil.move(file, path)
    return path
