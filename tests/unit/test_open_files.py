"""Too few open files are raised where they may be, and named where they may not."""

import json
import os
import resource
import subprocess

import pytest

from vsperf import own_python

LIMITED = """
import json, os, resource
from vsperf.errors import NotReadyError
from vsperf.host.open_files import allow_open_files, require_open_files
soft, hard = map(int, os.environ["LIMITED"].split())
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
allow_open_files()
why = None
try:
    require_open_files()
except NotReadyError as error:
    why = error.problems[0].why
print(json.dumps([resource.getrlimit(resource.RLIMIT_NOFILE), why]))
"""


def limited(tmp_path_factory: pytest.TempPathFactory, words: str) -> tuple[list[int], str | None]:
    folder = tmp_path_factory.mktemp("limited")
    (folder / "limited.py").write_text(LIMITED)
    done = subprocess.run(
        own_python.module("limited", folder=folder),
        env={**os.environ, "LIMITED": words},
        capture_output=True,
        text=True,
        check=True,
    )
    found, why = json.loads(done.stdout)
    return found, why


def test_few_are_raised_to_the_usual(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert limited(tmp_path_factory, "32 4096") == ([1024, 4096], None)


def test_many_stay_as_they_are(tmp_path_factory: pytest.TempPathFactory) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    few = min(most, 2048)
    assert limited(tmp_path_factory, f"{few} {few}")[0] == [few, few]


def test_too_few_that_nobody_may_raise_are_named(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    found, why = limited(tmp_path_factory, "64 64")
    assert found == [64, 64]
    assert why is not None
    assert "no more than 64 files may be open at once" in why
