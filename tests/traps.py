"""What lies in a folder of others for root to stumble upon: modules, firmware, programs."""

from __future__ import annotations

from pathlib import Path

MODULE = "import os\nos.write(2, b'a trap was run\\n')\nos._exit(99)\n"
FILES = {
    **dict.fromkeys(("json.py", "sitecustomize.py", "runpy.py", "usercustomize.py"), MODULE),
    **dict.fromkeys(("vsperf/__init__.py", "vsperf/__main__.py", "numpy/__init__.py"), MODULE),
    **dict.fromkeys(("bios-256k.bin", "linuxboot_dma.bin", "kvmvapic.bin", "efi-virtio.rom"), ""),
    **dict.fromkeys(("tgen", "ovs-vswitchd", "dpdk-testpmd", "qemu-system-x86_64", "ip"), "#!"),
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
