"""What lies in a folder of others for root to stumble upon: modules, firmware, programs."""

from __future__ import annotations

from pathlib import Path

SPRUNG = ".sprung"
"""How a file ends that is there since what is beside it was run, whoever heard what it said."""
MODULE = f"""import os
os.close(os.open(__file__ + '{SPRUNG}', os.O_CREAT | os.O_WRONLY))
os.write(2, b'a trap was run\\n')
os._exit(99)
"""
PROGRAM = f"""#!/bin/sh
: >"$0{SPRUNG}"
exit 99
"""
FILES = {
    **dict.fromkeys(("json.py", "sitecustomize.py", "runpy.py", "usercustomize.py"), MODULE),
    **dict.fromkeys(("vsperf/__init__.py", "vsperf/__main__.py", "numpy/__init__.py"), MODULE),
    **dict.fromkeys(("bios-256k.bin", "linuxboot_dma.bin", "kvmvapic.bin", "efi-virtio.rom"), ""),
    **dict.fromkeys(("tgen", "ovs-vswitchd", "dpdk-testpmd", "qemu-system-x86_64", "ip"), PROGRAM),
    **dict.fromkeys(("libdpdk.so", "librte_eal.so.23", "libc.so.6", "perf.data", ".env"), ""),
    ".git/config": "[core]\nfsmonitor = ./tgen\n",
    "pyvenv.cfg": "home = .\n",
    "setup.cfg": "",
    "pyproject.toml": "",
    ".perfconfig": "",
}


def lay(folder: Path) -> None:
    """Put all of them there."""
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)


def sprung(folder: Path) -> list[str]:
    """Return which of them were run."""
    return [str(path).removesuffix(SPRUNG) for path in sorted(folder.rglob(f"*{SPRUNG}"))]
