"""Root in folders of somebody else's: what lies there decides nothing, and nothing is written."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attacker import NOBODY, Town, as_nobody, give, town
from cli_shell import SMOKE, Shell, fixture_vsperf
from forged_index import change, seal

from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode, NotReadyError
from vsperf.host import places
from vsperf.host.cache import read_found, write_found
from vsperf.host.dead import standing_deployments
from vsperf.host.lock import testbed_lock as hold
from vsperf.host.procfs import boot_id
from vsperf.host.workspace import workspace
from vsperf.records.files.folders import RECORDS, run_folders
from vsperf.records.files.index import INDEX
from vsperf.records.files.leftovers import leftovers
from vsperf.trust import own_python

pytestmark = pytest.mark.everyday
__all__ = ["fixture_vsperf"]


# Root in a folder of somebody else's: what lies there decides nothing, and is written to nowhere.

REPOSITORY = Path(__file__).resolve().parents[2]
PLAN = ("plan", "phy2phy_smoke", "--testbed", "sim")
TESTBED = Path("conf/testbeds/sim.yaml")
FILES = {
    TESTBED: (REPOSITORY / TESTBED).read_text(),
    Path("conf/defaults.yaml"): (REPOSITORY / "conf/defaults.yaml").read_text(),
    Path("conf/presets/quick.yaml"): (REPOSITORY / "conf/presets/quick.yaml").read_text(),
    Path("conf/topologies/p2p.yaml"): (REPOSITORY / "conf/topologies/p2p.yaml").read_text(),
    Path("testcases/phy2phy_smoke.yaml"): (
        REPOSITORY / "testcases/phy2phy/phy2phy_smoke.yaml"
    ).read_text(),
    Path("testcases/any.suite.yaml"): (
        "testcases: {phy2phy_smoke: {topology: p2p, traffic: {frame_size: 64}}}\n"
    ),
}


@pytest.fixture(name="here")
def fixture_here(
    vsperf: Shell, require: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Town]:
    """Give a town to a root who stands in its /tmp."""
    require("root")
    monkeypatch.delenv("SUDO_UID", raising=False)
    with town() as made:
        monkeypatch.chdir(made.tmp)
        yield made


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize("name", FILES, ids=str)
def test_a_file_of_another_user_does_not_decide_what_root_does(
    vsperf: Shell, here: Town, name: Path
) -> None:
    as_nobody(lambda: put(here.tmp / name, FILES[name]))
    refused = vsperf(*PLAN, "--preset", "quick")
    assert refused.code == ExitCode.BAD_INPUT
    assert "another user can decide what this file says, and so what root does" in refused.err
    assert f"at: {name}\n" in refused.err
    assert f"{here.tmp / name.parts[0]} belongs to nobody" in refused.err
    assert "--allow-foreign" in refused.err
    assert vsperf(*PLAN, "--preset", "quick", "--allow-foreign").code == ExitCode.OK


@pytest.mark.parametrize("words", [("--conf", "mine.yaml"), ("./mine.yaml",)])
def test_a_file_that_was_named_does_not_decide_either(
    vsperf: Shell, here: Town, words: tuple[str, ...]
) -> None:
    as_nobody(lambda: put(here.tmp / "mine.yaml", "traffic: {frame_size: 64B}\n"))
    refused = vsperf("plan", "--testbed", "sim", "phy2phy_smoke", *words)
    assert refused.code == ExitCode.BAD_INPUT
    assert "at: mine.yaml\n" in refused.err
    assert "another user can decide what this file says" in refused.err


def test_a_file_that_decides_nothing_is_no_obstacle(vsperf: Shell, here: Town) -> None:
    as_nobody(lambda: put(here.tmp / "conf/testbeds/mine.yaml", "nonsense"))
    assert vsperf(*PLAN).code == ExitCode.OK


@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_a_file_of_roots_that_others_can_write_to_does_not_decide(
    vsperf: Shell, here: Town, mode: int
) -> None:
    put(here.tmp / TESTBED, FILES[TESTBED])
    assert vsperf(*PLAN).code == ExitCode.OK
    (here.tmp / TESTBED).chmod(mode)
    refused = vsperf(*PLAN)
    assert refused.code == ExitCode.BAD_INPUT
    assert f"can be written to by others (mode {mode:04o})" in refused.err


def test_a_file_in_a_folder_that_others_can_write_to_does_not_decide(
    vsperf: Shell, here: Town
) -> None:
    put(here.tmp / TESTBED, FILES[TESTBED])
    (here.tmp / "conf").chmod(0o777)
    assert vsperf(*PLAN).code == ExitCode.BAD_INPUT


def test_a_link_of_another_user_to_a_file_of_roots_does_not_decide(
    vsperf: Shell, here: Town
) -> None:
    (here.tmp / "conf/testbeds").mkdir(parents=True)
    (here.tmp / "conf/testbeds").chmod(0o1777)
    put(here.run / "sim.yaml", FILES[TESTBED])
    as_nobody(lambda: (here.tmp / TESTBED).symlink_to(here.run / "sim.yaml"))
    refused = vsperf(*PLAN)
    assert refused.code == ExitCode.BAD_INPUT
    assert "is a link of nobody" in refused.err


def test_the_user_who_called_sudo_may_decide(
    vsperf: Shell, here: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_nobody(lambda: put(here.tmp / TESTBED, FILES[TESTBED]))
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    assert vsperf(*PLAN).code == ExitCode.OK


def test_list_and_plan_say_in_one_line_that_something_built_in_is_hidden(
    vsperf: Shell, here: Town
) -> None:
    line = f"! hides what is built in: testbeds/sim, by {TESTBED}\n"
    for words in (("list", "testbeds"), PLAN):
        assert "hides what is built in" not in vsperf(*words).out
    put(here.tmp / TESTBED, FILES[TESTBED])
    for words in (("list", "testbeds"), PLAN):
        assert line in vsperf(*words).out
    assert "hides what is built in" not in vsperf("list", "presets").out


def interrupted(vsperf: Shell, results: Path, torn: str = "") -> Path:
    """Return the folder of a run without its end."""
    assert vsperf(*SMOKE, "--results", str(results)).code == ExitCode.OK
    (folder,) = run_folders(results)
    lines = (folder / RECORDS).read_text().splitlines(keepends=True)
    (folder / RECORDS).write_text("".join(lines[:2]) + torn)
    return folder


def test_records_of_another_user_are_not_resumed(vsperf: Shell, here: Town) -> None:
    folder = interrupted(vsperf, here.tmp / "results")
    give(here.tmp / "results")
    refused = vsperf("run", "--resume", "latest", "--results", str(here.tmp / "results"))
    assert refused.code == ExitCode.BAD_INPUT
    assert f"another user can decide what {folder / RECORDS} says" in refused.err
    again = ("run", "--resume", "latest", "--results", str(here.tmp / "results"))
    assert vsperf(*again, "--allow-foreign").code == ExitCode.OK


@pytest.mark.parametrize("how", [os.symlink, os.link])
def test_a_torn_line_is_set_aside_in_no_other_file(
    vsperf: Shell, here: Town, how: Callable[[Path, Path], None]
) -> None:
    folder = interrupted(vsperf, here.tmp / "results", torn="nobody::0:0::/:/bin/sh")
    how(here.precious, folder / "torn.jsonl")
    refused = vsperf("run", "--resume", folder.name, "--results", str(here.tmp / "results"))
    assert refused.code == ExitCode.COMPONENT_FAILED
    assert "torn.jsonl is " in refused.err
    assert here.precious.read_text() == "root\n"


def test_records_that_are_a_link_are_not_written_to(vsperf: Shell, here: Town) -> None:
    folder = interrupted(vsperf, here.tmp / "results")
    shutil.move(folder / RECORDS, here.precious)
    before = here.precious.read_text()
    (folder / RECORDS).symlink_to(here.precious)
    refused = vsperf("run", "--resume", folder.name, "--results", str(here.tmp / "results"))
    assert refused.code == ExitCode.BAD_INPUT
    assert here.precious.read_text() == before


def test_a_cache_of_another_user_is_neither_believed_nor_written(here: Town) -> None:
    cache = here.tmp / "cache" / "kvm.json"
    found = {"format": 1, "found": {"key": {"works": True}}}

    def plant() -> None:
        put(cache, json.dumps(found))
        for number in (os.getppid(), os.getpid()):
            cache.with_suffix(f".{number}").symlink_to(here.precious)

    as_nobody(plant)
    assert read_found(cache, 1) == {}
    write_found(cache, 1, {"other": 1})
    assert here.precious.read_text() == "root\n"
    assert json.loads(cache.read_text()) == found


def test_a_link_in_a_cache_of_ones_own_is_not_followed(here: Town) -> None:
    cache = here.run / "cache" / "kvm.json"
    cache.parent.mkdir(mode=0o700)
    for name in ("kvm.json", "kvm.json.new", f"kvm.{os.getpid()}"):
        (cache.parent / name).symlink_to(here.precious)
    write_found(cache, 1, {"key": 1})
    assert here.precious.read_text() == "root\n"
    assert read_found(cache, 1) == {"key": 1}


def test_an_index_of_another_user_is_neither_believed_nor_written(
    vsperf: Shell, here: Town
) -> None:
    results = here.tmp / "results"
    interrupted(vsperf, results)
    listed = ("results", "--cases", "--json", "--results", str(results))
    expected = vsperf(*listed).out
    change(results / INDEX, "UPDATE cases SET label = 'forged'")
    seal(results / INDEX)
    before = (results / INDEX).read_bytes()
    assert "forged" in vsperf(*listed).out, "or nothing is forged"
    give(results)
    assert vsperf(*listed).out == expected
    assert (results / INDEX).read_bytes() == before


def test_no_index_is_written_through_a_link_of_another_user(vsperf: Shell, here: Town) -> None:
    results = here.tmp / "results"
    interrupted(vsperf, results)
    (results / INDEX).unlink(missing_ok=True)
    give(results)
    as_nobody(lambda: (results / INDEX).symlink_to(here.run / "made"))
    assert vsperf("results", "--results", str(results)).code == ExitCode.OK
    assert not (here.run / "made").exists()


def test_a_folder_that_became_a_link_is_not_emptied(here: Town) -> None:
    results = here.tmp / "results"
    stillborn = results / "2026-01-01-phy2phy_smoke-k7f3"
    stillborn.mkdir(parents=True)
    long_ago = time.time() - 3600
    os.utime(stillborn, (long_ago, long_ago))
    (leftover,) = leftovers(results)
    stillborn.rmdir()
    stillborn.symlink_to(here.precious.parent)
    leftover.remove()
    assert here.precious.exists()
    assert not stillborn.is_symlink()


# Root writes files that it names, in a folder of somebody else's: nothing of root's is touched.

WRITERS = {
    "plot": ("plot", "search", "latest", "--results={results}"),
    "compare": ("compare", "latest", "latest", "--format=md", "-oout.md", "--results={results}"),
    "report": ("report", "latest", "-oout.html", "--results={results}"),
    "export": ("export", "json", "latest", "-oout.json", "--results={results}"),
}
NAMES = {"plot": "search.svg", "compare": "out.md", "report": "out.html", "export": "out.json"}


@pytest.fixture(name="here_of_root")
def fixture_here_of_root(
    vsperf: Shell, require: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Town]:
    """Give a town to a root who stands in a folder of nobody's, with results of its own."""
    require("root")
    monkeypatch.delenv("SUDO_UID", raising=False)
    with town() as made:
        assert vsperf(*SMOKE, "--results", str(made.run / "results")).code == ExitCode.OK
        as_nobody((made.tmp / "theirs").mkdir)
        monkeypatch.chdir(made.tmp / "theirs")
        yield made


def words(here: Town, writer: str) -> list[str]:
    return [word.format(results=here.run / "results") for word in WRITERS[writer]]


@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_is_written_through_a_link_of_another_user(
    vsperf: Shell, here_of_root: Town, writer: str
) -> None:
    name = NAMES[writer]
    as_nobody(lambda: Path(name).symlink_to(here_of_root.precious))
    ended = vsperf(*words(here_of_root, writer))
    assert ended.code == ExitCode.OK, ended.err
    assert here_of_root.precious.read_text() == "root\n"
    assert not Path(name).is_symlink()
    assert Path(name).stat().st_uid == 0


@pytest.mark.usefixtures("never_waits")
@pytest.mark.parametrize("writer", WRITERS)
def test_nobody_waits_for_the_reader_of_another_users_pipe(
    vsperf: Shell, here_of_root: Town, writer: str
) -> None:
    as_nobody(lambda: os.mkfifo(NAMES[writer]))
    ended = vsperf(*words(here_of_root, writer))
    assert ended.code == ExitCode.COMPONENT_FAILED
    assert "is there, and is no regular file" in ended.err


@pytest.mark.parametrize("writer", ["compare", "report", "export"])
def test_no_folder_is_reached_through_a_link_of_another_user(
    vsperf: Shell, here_of_root: Town, writer: str
) -> None:
    as_nobody(lambda: Path("figures").symlink_to(here_of_root.precious.parent))
    into = [word.replace("-oout", "-ofigures/out") for word in words(here_of_root, writer)]
    ended = vsperf(*into)
    assert ended.code == ExitCode.COMPONENT_FAILED
    assert "is a link of nobody" in ended.err
    assert [*here_of_root.precious.parent.iterdir()] == [here_of_root.precious]


@pytest.mark.needs("tgen")
def test_no_capture_is_written_behind_a_link_of_another_user(
    vsperf: Shell, here_of_root: Town
) -> None:
    as_nobody(lambda: Path("figures").symlink_to(here_of_root.precious.parent))
    by_hand = ("--vdev", "net_ring0", "--no-hugepages", "--frames", "1")
    ended = vsperf("tgen", "capture", *by_hand, "figures/seen.pcap")
    assert ended.code == ExitCode.COMPONENT_FAILED
    assert "is a link of nobody" in ended.err
    assert [*here_of_root.precious.parent.iterdir()] == [here_of_root.precious]


def test_no_baseline_is_removed_behind_a_link_of_another_user(
    vsperf: Shell, here_of_root: Town
) -> None:
    behind = here_of_root.precious.parent
    (behind / "main.json").write_text("{}")
    as_nobody(Path("results").mkdir)
    as_nobody(lambda: Path("results", "baselines").symlink_to(behind))
    ended = vsperf("baseline", "remove", "main")
    assert ended.code != ExitCode.OK
    assert "is a link of nobody" in ended.err
    assert (behind / "main.json").exists()


def test_a_run_is_not_stored_behind_a_link_of_another_user(
    vsperf: Shell, here_of_root: Town
) -> None:
    as_nobody(lambda: Path("results").symlink_to(here_of_root.precious.parent))
    ended = vsperf(*SMOKE)
    assert ended.code == ExitCode.COMPONENT_FAILED
    assert "is a link of nobody" in ended.err
    assert [*here_of_root.precious.parent.iterdir()] == [here_of_root.precious]


def test_a_refused_run_is_noted_behind_no_link_of_another_user(
    vsperf: Shell, here_of_root: Town
) -> None:
    behind = here_of_root.precious.parent
    (behind / "a folder").mkdir()
    before = sorted(behind.iterdir())
    as_nobody(lambda: Path("results").symlink_to(behind))
    assert vsperf(*SMOKE, "--set", "vswitch.behaviour.kind=nonsense").code == ExitCode.BAD_INPUT
    assert sorted(behind.iterdir()) == before


def test_a_pipe_in_the_place_of_matplotlibs_settings_is_not_waited_for(
    vsperf: Shell, here_of_root: Town
) -> None:
    as_nobody(lambda: os.mkfifo("matplotlibrc"))
    argv = own_python.module("vsperf", *words(here_of_root, "plot"))
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, timeout=60, check=False)
    assert done.returncode == ExitCode.OK
    assert Path("search.svg").is_file()


@pytest.mark.everyday("fonts are looked for anew, as on a machine that was never used")
def test_fonts_in_another_users_home_are_neither_waited_for_nor_taken(
    vsperf: Shell, here_of_root: Town
) -> None:
    from matplotlib.font_manager import FontManager

    home = here_of_root.tmp / "home"

    def plant() -> None:
        (home / ".cache" / "matplotlib").mkdir(parents=True)
        (home / ".fonts").mkdir()
        os.mkfifo(home / ".cache" / "matplotlib" / f"fontlist-v{FontManager.__version__}.json")
        os.mkfifo(home / ".fonts" / "evil.ttf")

    as_nobody(plant)
    argv = own_python.module("vsperf", *words(here_of_root, "plot"))
    there = {**os.environ, "HOME": str(home)}
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, timeout=120, check=False, env=there)
    assert done.returncode == ExitCode.OK
    assert Path("search.svg").is_file()


def test_clean_removes_nothing_behind_a_link_of_another_user(
    vsperf: Shell, here_of_root: Town
) -> None:
    own = here_of_root.run / "results"
    (planned := own / ".latest-x").symlink_to("nowhere")
    as_nobody(lambda: Path("results").symlink_to(own))
    ended = vsperf("clean")
    assert planned.is_symlink()
    assert "results is not looked into: results in results is a link of nobody" in ended.err
    assert vsperf("clean", "--results", str(own)).code == ExitCode.OK
    assert not planned.is_symlink()


@pytest.mark.parametrize("name", [".latest-x", ".index.sqlite-x", "2026-01-01-smoke-k7f3"])
def test_clean_removes_no_measurement_whatever_its_folder_is_called(
    vsperf: Shell, here_of_root: Town, name: str
) -> None:
    results = here_of_root.run / "results"
    (run,) = run_folders(results)
    shutil.copytree(run, copy := results / name)
    long_ago = time.time() - 3600
    os.utime(copy, (long_ago, long_ago))
    vsperf("clean", "--results", str(results))
    assert (copy / RECORDS).read_bytes() == (run / RECORDS).read_bytes()


# Another user of the machine cannot make root do anything, and can work beside root.

WORKSPACE = "vsperf-1-abcdef"


@pytest.fixture(name="here_of_users")
def fixture_here_of_users(
    vsperf: Shell, require: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Town]:
    """Give a machine whose /run and /tmp are looked into as nobody has said otherwise."""
    require("root")
    monkeypatch.delenv(places.VARIABLE)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with town() as made:
        monkeypatch.setattr(places, "RUN", made.run)
        monkeypatch.setattr(tempfile, "tempdir", str(made.tmp))
        yield made


def plant(root: Path, *undos: dict[str, object], kept: bool = False) -> Path:
    """Put there what looks like a deployment that root has left."""
    folder = root / WORKSPACE
    folder.mkdir(parents=True, mode=0o700)
    for inner in (root, folder):
        inner.chmod(0o755)
    owner = {"pid": 1, "started": 1, "boot": boot_id(), "purpose": "a run", "kept": kept}
    (folder / "owner.json").write_text(json.dumps(owner))
    lines = [json.dumps({"number": n, "undo": undo}) for n, undo in enumerate(undos, start=1)]
    (folder / "journal.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def undos(victim: Path) -> tuple[dict[str, object], ...]:
    return (
        {"kind": "write-file", "path": str(victim), "value": "nobody ALL=(ALL) NOPASSWD: ALL"},
        {"kind": "remove-file", "path": str(victim)},
        {"kind": "remove-tree", "path": str(victim.parent)},
    )


def test_root_carries_out_no_undo_that_another_user_planted_in_tmp(
    vsperf: Shell, here_of_users: Town
) -> None:
    as_nobody(lambda: str(plant(here_of_users.tmp / "vsperf-0", *undos(here_of_users.precious))))
    ended = vsperf("clean")
    assert ended.code == ExitCode.OK
    assert "vsperf-0" not in ended.out
    assert here_of_users.precious.read_text() == "root\n"


def test_root_looks_into_no_folder_in_tmp(here_of_users: Town) -> None:
    assert places.usual_folders() == (here_of_users.run / "vsperf",)


@pytest.mark.parametrize("words", [("clean",), ("shell", "vm1", "id")])
def test_a_folder_of_another_user_that_root_was_pointed_at_is_refused_by_name(
    vsperf: Shell, here_of_users: Town, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    planted = here_of_users.tmp / "planted"
    as_nobody(lambda: str(plant(planted, *undos(here_of_users.precious), kept=True)))
    monkeypatch.setenv(places.VARIABLE, str(planted))
    ended = vsperf(*words)
    assert ended.code == ExitCode.NOT_READY
    assert f"{planted} cannot be trusted with a deployment" in ended.err
    assert f"{planted} belongs to nobody" in ended.err
    assert here_of_users.precious.read_text() == "root\n"


def test_a_folder_of_root_is_refused_where_others_could_put_another_in_its_place(
    vsperf: Shell, here_of_users: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    (open_to_all := here_of_users.folder / "open").mkdir()
    open_to_all.chmod(0o777)
    (open_to_all / "run").mkdir(mode=0o700)
    monkeypatch.setenv(places.VARIABLE, str(open_to_all / "run"))
    ended = vsperf("clean")
    assert ended.code == ExitCode.NOT_READY
    assert f"{open_to_all} can be written to by others" in ended.err


def test_roots_shell_talks_to_no_socket_of_another_user(vsperf: Shell, here_of_users: Town) -> None:
    def attack() -> None:
        folder = plant(here_of_users.tmp / "vsperf-0", kept=True)
        with socket.socket(socket.AF_UNIX) as planted:
            planted.bind(str(folder / "vm1.shell"))

    as_nobody(attack)
    assert standing_deployments((here_of_users.tmp / "vsperf-0",)) == ()
    ended = vsperf("shell", "vm1", "id")
    assert ended.code == ExitCode.BAD_INPUT
    assert "no deployment is up" in ended.err


@pytest.mark.usefixtures("never_waits")
@pytest.mark.parametrize("name", ["owner.json", "journal.jsonl"])
def test_a_pipe_in_the_place_of_a_file_stops_nobody(
    vsperf: Shell, here_of_users: Town, name: str
) -> None:
    folder = plant(here_of_users.run / "vsperf")
    here_of_users.run.joinpath("vsperf").chmod(0o700)
    folder.chmod(0o700)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert vsperf(*SMOKE).code == ExitCode.OK
    vsperf("clean")


def test_a_journal_that_is_a_link_is_not_written_to(vsperf: Shell, here_of_users: Town) -> None:
    folder = plant(here_of_users.run / "vsperf")
    (folder / "journal.jsonl").unlink()
    (folder / "journal.jsonl").symlink_to(here_of_users.precious)
    ended = vsperf("clean")
    assert ended.code == ExitCode.LEFT_BEHIND
    assert f"{folder}/journal.jsonl is a link" in ended.out
    assert here_of_users.precious.read_text() == "root\n"


def test_a_lock_that_is_a_link_is_not_written_to(vsperf: Shell, here_of_users: Town) -> None:
    (here_of_users.run / "vsperf").mkdir(mode=0o700)
    (here_of_users.run / "vsperf" / "local.lock").symlink_to(here_of_users.precious)
    with pytest.raises(NotReadyError, match="lock of testbed local"), hold("local", "run"):
        pass
    assert here_of_users.precious.read_text() == "root\n"


def quietly(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a command in this process, and return its exit code and what it says."""
    os.chdir(folder)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = run_cli(list(arguments))
    return code, out.getvalue()


def test_another_user_deploys_and_cleans_beside_root(vsperf: Shell, here_of_users: Town) -> None:
    own = here_of_users.tmp / f"vsperf-{NOBODY}"

    def die() -> None:
        """Begin a deployment, and be gone without a word."""
        if (child := os.fork()) == 0:
            with workspace("a run"):
                os._exit(0)
        os.waitpid(child, 0)

    assert vsperf("clean").code == ExitCode.OK  # imports what the other user may not read here
    as_nobody(die)
    (left,) = own.iterdir()
    code, said = as_nobody(lambda: quietly(here_of_users.tmp, "clean"))
    assert (code, said.partition(" (")[0]) == (ExitCode.OK, f"removed {left}")
    assert not own.exists()


def test_another_user_is_refused_a_folder_that_a_third_one_took(
    vsperf: Shell, here_of_users: Town
) -> None:
    own = here_of_users.tmp / f"vsperf-{NOBODY}"
    assert vsperf("clean").code == ExitCode.OK
    own.mkdir(mode=0o700)
    os.chown(own, NOBODY - 1, NOBODY - 1)

    def begin() -> str:
        try:
            with workspace("a run"):
                return "begun"
        except NotReadyError as error:
            return error.with_why

    assert as_nobody(begin) == (
        f"{own} cannot be trusted with a deployment: {own} belongs to user {NOBODY - 1}"
    )
    assert as_nobody(lambda: quietly(here_of_users.tmp, "clean"))[1] == "nothing is left behind\n"
