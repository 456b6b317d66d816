"""Installed in any way that users install it, vsperf brings all it needs and works anywhere.

Each way gets an environment of its own that holds exactly what requirements.in asks for, with all
that these packages ask for in turn. Nothing is fetched: the packages are linked from here. So a
requirement that is missing in the list is missing in the environment, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from conftest import Require
from packaging.requirements import Requirement
from tiers import GIT

INSTALL = ("install", "--quiet", "--no-index", "--no-build-isolation")
BUILD = {
    way: f"import sys; from setuptools import build_meta as b; print(b.build_{way}(sys.argv[1]))"
    for way in ("sdist", "wheel")
}
"""What makes the file that is installed, where it is one."""


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with vsperf in it."""

    way: str
    folder: Path
    source: Path

    @property
    def packages(self) -> Path:
        return _site_packages(self.folder)

    @property
    def home(self) -> Path:
        """Where the specifications that come with vsperf must be."""
        if self.way == "editable":
            return self.source
        return self.packages / "vsperf" / "_data"

    def run(self, *argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return _run([str(self.folder / "bin" / argv[0]), *argv[1:]], cwd)

    def pip(self, *argv: str) -> None:
        """Run pip on it, by what is here alone."""
        pip = (sys.executable, "-m", "pip", "--python", str(self.folder / "bin" / "python"))
        done = _run([*pip, *argv], self.source)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def _run(argv: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run without the settings that this process was given for Python, pip and vsperf."""
    foreign = ("PYTHON", "PIP_", "VSPERF_", "VIRTUAL_ENV", "XDG_")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    environ |= {"HOME": str(cwd), "PIP_CONFIG_FILE": os.devnull, "COLUMNS": "200"}
    done = subprocess.run(argv, cwd=cwd, env=environ, text=True, capture_output=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _site_packages(folder: Path) -> Path:
    (packages,) = folder.glob("lib/python3*/site-packages")
    return packages


def _with_all_they_need(names: set[str]) -> Iterator[Distribution]:
    todo, seen = sorted(names), set[str]()
    while todo:
        name = todo.pop().lower()
        if name in seen:
            continue
        seen.add(name)
        found = distribution(name)
        yield found
        needs = [Requirement(text) for text in found.requires or ()]
        todo += [n.name for n in needs if n.marker is None or n.marker.evaluate({"extra": ""})]


def _direct_requirements(repository: Path) -> set[str]:
    lines = (repository / "requirements.in").read_text().splitlines()
    return {Requirement(line).name for line in lines if line and not line.startswith("#")}


def _empty_environment(folder: Path, repository: Path) -> None:
    venv.create(folder, symlinks=True, with_pip=False)
    packages = _site_packages(folder)
    for found in _with_all_they_need(_direct_requirements(repository)):
        tops = {path.parts[0] for path in found.files or () if ".." not in path.parts}
        for top in tops - {"__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(found.locate_file(top))))


@pytest.fixture(name="source", scope="module")
def fixture_source(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, require: Require
) -> Path:
    """Return a copy of the checkout, without what git ignores, in a folder with a space."""
    require("checkout")
    require("setuptools")
    argv = [*GIT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(argv, cwd=repository, check=True, capture_output=True, text=True)
    target = tmp_path_factory.mktemp("packaging") / "the source"
    for name in filter(None, listed.stdout.split("\0")):
        if (repository / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repository / name, target / name)
    return target


@pytest.fixture(
    name="installed",
    scope="module",
    params=["sdist", "wheel", pytest.param("tree", marks=pytest.mark.everyday), "editable"],
)
def fixture_installed(
    request: pytest.FixtureRequest, source: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    """Return an environment in which vsperf was installed in one of the ways."""
    way: str = request.param
    folder = tmp_path_factory.mktemp("environment") / way
    _empty_environment(folder, source)
    what = ["."]
    if way in BUILD:
        done = _run([sys.executable, "-c", BUILD[way], str(folder)], source)
        what = [str(folder / done.stdout.splitlines()[-1])]
    elif way == "editable":
        what = ["--editable", "."]
    installed = Installed(way, folder, source)
    installed.pip(*INSTALL, *what)
    return installed


def test_the_program_starts_in_an_unrelated_directory(installed: Installed, tmp_path: Path) -> None:
    done = installed.run("vsperf", "--version", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0.1.0" in done.stdout


def test_it_lists_its_own_testcases_and_says_where_they_are(
    installed: Installed, tmp_path: Path
) -> None:
    done = installed.run("vsperf", "list", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["folders"] == [{"path": str(installed.home), "role": "built-in"}]
    assert "phy2phy_tput" in {row["name"] for row in found["testcases"]}


def test_a_run_goes_from_yaml_to_a_stored_result(installed: Installed, tmp_path: Path) -> None:
    argv = ("vsperf", "run", "phy2phy_smoke", "--testbed", "sim", "--json")
    done = installed.run(*argv, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["simulated"] is True
    assert Path(found["folder"], "records.jsonl").is_relative_to("results")
    assert (tmp_path / found["folder"] / "records.jsonl").is_file()


def test_its_requirements_are_complete_and_agree_with_each_other(installed: Installed) -> None:
    installed.pip("check")


def yaml_files(home: Path, folder: str) -> set[Path]:
    return {path.relative_to(home) for path in home.glob(f"{folder}/**/*.yaml")}


def test_every_specification_of_the_checkout_is_installed(installed: Installed) -> None:
    for folder in ("conf", "testcases"):
        expected = yaml_files(installed.source, folder)
        assert expected, "the checkout has specifications"
        assert yaml_files(installed.home, folder) == expected


def test_templates_tables_and_the_mark_of_types_are_installed_with_the_programs(
    installed: Installed,
) -> None:
    top = installed.source if installed.way == "editable" else installed.packages
    files = (path for path in (installed.source / "vsperf").rglob("*") if path.is_file())
    others = {path.relative_to(installed.source) for path in files if ".py" not in path.suffix}
    assert {path.name for path in others} >= {"py.typed", "overview.html", "comparison.html.j2"}
    assert sorted(path for path in others if not (top / path).is_file()) == []


def test_extras_are_those_of_a_checkout_or_of_a_file(installed: Installed) -> None:
    """Each is asked for behind the path of what is installed: `.[vpp]`, `FILE.whl[vpp]`."""
    python = str(installed.folder / "bin" / "python")
    asked = "import importlib.metadata as m; print(*m.metadata('vsperf').get_all('Provides-Extra'))"
    done = _run([python, "-c", asked], installed.folder)
    assert set(done.stdout.split()) == {"interactive", "otg", "trex", "vpp"}


def test_drivers_of_chassis_are_a_package_of_their_own(
    installed: Installed, tmp_path: Path
) -> None:
    """Who names one of them without it is told how it is installed, however vsperf was."""
    case = ("vsperf", "plan", "phy2phy_smoke", "--testbed", "sim", "--generator", "xena")
    told = installed.run(*case, cwd=tmp_path)
    assert "pip install ./tools/chassis" in told.stderr
    installed.pip(*INSTALL, "./tools/chassis")
    try:
        installed.pip("check")
        listed = json.loads(installed.run("vsperf", "plugins", "--json", cwd=tmp_path).stdout)
    finally:
        installed.pip("uninstall", "--quiet", "--yes", "vsperf-chassis")
    found = {one["kind"]: one["failure"] for one in listed if one["package"] == "vsperf-chassis"}
    assert found == dict.fromkeys(("ixnetwork", "spirent", "xena"))
