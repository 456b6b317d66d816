"""Checks of programs: what one looks like, and that of the one that no driver brings."""

from __future__ import annotations

import shutil

from vsperf.host.doctor.finding import Answer, Check, Group, Host, absent, ok
from vsperf.host.software import package_versions


def program_check(
    name: str, purpose: str, package: str | None = None, *, names: tuple[str, ...] = ()
) -> Check:
    """Return the check whether a program is there, and of which version.

    Any of `names` will do, where it is called otherwise than the check; a distribution has it in
    `package`, or none does.
    """
    fix = f"apt-get install {package}" if package else None

    def ask(here: Host) -> Answer:
        path = here.environment.get("PATH")
        found = next(
            (place for one in names or (name,) if (place := shutil.which(one, path=path))), None
        )
        if found is None:
            return absent(f"not installed; for {purpose}", fix)
        version = package_versions((package,)).get(package) if package else None
        return ok(f"{found}, package {package} {version}" if version else found)

    return Check(name, Group.PROGRAMS, ask)


CHECKS = (program_check("tshark", "looking into captures", "tshark"),)
