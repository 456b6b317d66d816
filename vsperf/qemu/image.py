"""The guest image of this project: where it is, and what it says about itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.errors import NotReadyError

VARIABLE = "VSPERF_GUEST"
CHECKOUT = Path(__file__).resolve().parents[2]
BUILD_COMMAND = "make setup builds it in a checkout; by hand: vnfs/build"
KERNEL = "vmlinuz"
INITRD = "initrd"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class GuestImage:
    """A kernel and an initial RAM disk with the agent in it."""

    folder: Path
    manifest: Mapping[str, Any] = field(default_factory=dict)
    """What it was made of; empty in a plan for an image that is not there yet."""
    disk: Path | None = None
    """Another disk in the place of its own: that one, with more unpacked over it."""

    @property
    def kernel(self) -> Path:
        """The kernel."""
        return self.folder / KERNEL

    @property
    def initrd(self) -> Path:
        return self.disk or self.folder / INITRD

    @property
    def hash(self) -> str | None:
        """The hash that names the image; None when it does not say."""
        found = self.manifest.get("image")
        return str(found) if found else None

    @property
    def append(self) -> str | None:
        """Words that its kernel wants to be started with; None when it does not say."""
        found = self.manifest.get("append")
        return str(found) if found else None


def find_image(
    environment: Mapping[str, str] = os.environ, checkout: Path = CHECKOUT
) -> GuestImage:
    """Return the image; raises `NotReadyError` with the way to build it, or to get it."""
    folder = image_folder(environment, checkout)
    missing = [name for name in (KERNEL, INITRD, MANIFEST) if not (folder / name).is_file()]
    if missing and not (checkout / "vnfs").is_dir():  # vsperf came as a wheel
        named = environment.get(VARIABLE)
        raise NotReadyError(
            "the guest image is not there",
            why=f"there is no {folder / missing[0]}" if named else f"${VARIABLE} is not set",
            fix=f"copy build/guest of a checkout that was set up, and name it: {VARIABLE}=FOLDER",
        )
    if missing:
        raise NotReadyError(
            "the guest image is not built",
            why=f"there is no {folder / missing[0]}",
            fix=BUILD_COMMAND,
        )
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError) as error:
        raise NotReadyError(
            f"the guest image in {folder} cannot be used",
            why=f"its {MANIFEST} cannot be read: {error}",
            fix=BUILD_COMMAND,
        ) from error
    return GuestImage(folder, manifest if isinstance(manifest, dict) else {})


def planned_image(environment: Mapping[str, str] = os.environ) -> GuestImage:
    """Return what a plan calls the image, which need not be there yet."""
    try:
        return find_image(environment)
    except NotReadyError:
        return GuestImage(image_folder(environment))


def image_folder(environment: Mapping[str, str] = os.environ, checkout: Path = CHECKOUT) -> Path:
    """Return the folder of the image: named by the user, or built in this checkout."""
    named = environment.get(VARIABLE)
    return Path(named).absolute() if named else checkout / "build" / "guest"
