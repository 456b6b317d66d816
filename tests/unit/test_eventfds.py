"""Event descriptors of another process are signalled, and nothing else of it is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import Require

from vsperf.host.eventfds import ring

WAITS = "import os; os.write(1, b'%d' % os.eventfd_read(int(os.sys.argv[1])))"


def test_who_waits_at_an_event_descriptor_is_woken(require: Require) -> None:
    require("root")  # others may not look into every process
    bell = os.eventfd(0)
    with subprocess.Popen(
        [sys.executable, "-c", WAITS, str(bell)], pass_fds=(bell,), stdout=subprocess.PIPE
    ) as waiting:
        os.close(bell)
        assert ring(waiting.pid) == 1
        said, _ = waiting.communicate(timeout=10)
    assert said == b"1"


def test_a_process_without_any_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "7/fd"
    folder.mkdir(parents=True)
    (folder / "0").symlink_to("/dev/null")
    assert ring(7, proc=tmp_path) == 0
