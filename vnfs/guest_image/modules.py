"""Which kernel modules a guest loads, and in which order."""

from __future__ import annotations

import lzma
import subprocess
from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter

from .failure import BuildError, environment, program
from .kernel import Kernel

WANTED = {
    "boot": ("virtio_pci", "virtio_net", "virtio_console", "af_packet"),
    "testpmd": ("uio_pci_generic",),
    "linux_bridge": ("bridge",),
}
"""What is loaded at boot, and what only an application needs."""
SIGNED = b"~Module signature appended~\n"
SIGNATURE_HEADER = 12


def ordered(kernel: Kernel) -> dict[str, tuple[str, ...]]:
    """Return for each list of `WANTED` all modules it takes, each behind those that it needs.

    What the kernel has built in is left out, and what was loaded at boot is in no other list.
    """
    at_boot = _with_needs(kernel, WANTED["boot"])
    lists = {name: _with_needs(kernel, wanted) for name, wanted in WANTED.items()}
    return {
        name: tuple(each for each in modules if name == "boot" or each not in at_boot)
        for name, modules in lists.items()
    }


def plain(kernel: Kernel, name: str) -> bytes:
    """Return a module unpacked and without its signature, which takes time to check at boot."""
    content = _unpacked(name, kernel.modules[name])
    if not content.endswith(SIGNED):
        return content
    end = len(content) - len(SIGNED)
    length = int.from_bytes(content[end - 4 : end], "big")
    return content[: end - SIGNATURE_HEADER - length]


def _unpacked(name: str, content: bytes) -> bytes:
    try:
        if content.startswith(b"\xfd7zXZ"):
            return lzma.decompress(content)
        if content.startswith(b"\x28\xb5\x2f\xfd"):
            argv = [str(program("zstd", "zstd")), "--decompress", "--stdout"]
            return subprocess.run(  # noqa: S603 - an argument vector of our own
                argv, input=content, capture_output=True, check=True, env=environment()
            ).stdout
    except lzma.LZMAError as error:
        raise _damaged(name, str(error)) from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise _damaged(name, said or f"zstd ended with {error.returncode}") from error
    return content


def _damaged(name: str, why: str) -> BuildError:
    return BuildError(
        f"the kernel's module {name} cannot be unpacked",
        why,
        "delete the kernel's packages (downloads/*.deb beside the image) and build again",
    )


def _with_needs(kernel: Kernel, wanted: Iterable[str]) -> tuple[str, ...]:
    graph: dict[str, tuple[str, ...]] = {}
    queue = [name for name in wanted if name not in kernel.builtin]
    while queue:
        name = queue.pop()
        if name in graph:
            continue
        if name not in kernel.modules:
            raise BuildError(
                f"the kernel {kernel.release} has no module {name}",
                "its package neither holds it nor lists it as built in",
                "build with --renew, which takes the distribution's present kernel",
            )
        needs = _needs(plain(kernel, name))
        graph[name] = tuple(each for each in needs if each not in kernel.builtin)
        queue += graph[name]
    return _stable_order(graph)


def _stable_order(graph: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order += ready
        sorter.done(*ready)
    return tuple(order)


def _needs(module: bytes) -> list[str]:
    """Return what a module says of itself in its section `.modinfo`."""
    _, mark, rest = module.partition(b"\0depends=")
    names = rest.partition(b"\0")[0].decode(errors="replace") if mark else ""
    return [name.replace("-", "_") for name in names.split(",") if name]
