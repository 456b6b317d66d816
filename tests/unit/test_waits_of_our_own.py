"""Every wait of vsperf ends when somebody asks it to stop: none is made but by `vsperf.waits`."""

import ast
from collections.abc import Iterator

from all_wrong import modules, relative

OF_MODULES = {
    "time": {"sleep"},
    "subprocess": {"run", "call", "check_call", "check_output"},
    "select": {"select", "poll", "epoll"},
    "signal": {"pause", "sigwait", "sigwaitinfo", "sigtimedwait"},
    "os": {"system", "wait", "waitpid", "wait4", "waitid"},
    "fcntl": {"lockf"},
    "socket": {"create_connection", "getaddrinfo"},
    "selectors": {"DefaultSelector"},
    "asyncio": {"run"},
    "concurrent.futures": {"wait", "as_completed"},
}
"""Functions that wait, by the module that they are taken from."""
METHODS = {
    *("wait", "communicate", "result", "accept", "sendall", "getresponse", "serve_forever"),
    *("recv", "recv_into", "recvfrom", "recvmsg", "urlopen", "acquire"),
}
"""Methods that wait, whatever they are called on."""
OF_THREADS = ("thread", "process", "pool")
OWN_PROGRAMS = {
    "drivers/collectors/sampler.py": "in a session of its own; ends when its connection is closed",
    "drivers/collectors/stamp.py": "in a session of its own; ended by vsperf",
    "host/enter_network.py": "in a session of its own; ended by vsperf, and waits a second at most",
    "drivers/vnfs/process/waiting.py": "in a session of its own; ended by vsperf",
}
"""Programs that vsperf starts: Ctrl-C is not for them."""
ALLOWED = {
    "waits.py": {
        "select.poll": "the wait itself",
        "poll.poll": "the wait itself",
        "time.sleep": "less than two milliseconds",
        "connection.recv": "something is there",
    },
    "drivers/programs/serve_user_space.py": {
        "server.wait": "a program of its own, which a signal ends"
    },
    "qemu/console.py": {
        "self.connection.recv": "in a thread, which never sees a signal",
        "time.sleep": "in that thread",
        "self.thread.join": "half a second at most, at the end of a guest",
    },
    "qemu/qmp.py": {
        "concurrent.futures.wait": "a tenth of a second, then it looks",
        "future.result": "it is done",
        "asked.result": "it is done",
        "self._heartbeat[1].result": "zero seconds",
        "self._submit(self._client.disconnect()).result": "half a second at most, at the end",
        "self._submit(_cancel_rest()).result": "half a second at most, at the end",
        "self._thread.join": "half a second at most, at the end",
    },
    "host/netns.py": {"pool.submit(action).result": "a few system calls that do not wait"},
    "otg/reading.py": {"self._connection.recv_into": "in a thread of its own, with a deadline"},
    "otg/server.py": {
        "self.connection.sendall": "in a thread of its own, with a deadline",
        "self.connections.acquire": "it does not block",
        "self.generator.turn.acquire": "it does not block",
    },
    "drivers/generators/trex/server.py": {"self.socket.recv": "its message is there"},
    "drivers/generators/trex/driver.py": {
        "server.acquire": "a method of ours: it asks TRex",
        "socket.create_connection": "on this machine: yes or no",
    },
    "tools/chassis/vsperf_chassis/ixnetwork/client.py": {
        "connection.getresponse": "in a thread, by `aside`"
    },
    "tools/chassis/vsperf_chassis/xena/chassis.py": {
        "socket.create_connection": "in a thread, by `aside`"
    },
    "drivers/vswitches/ovs/running.py": {
        "connection.recv": "the library's, which does not block",
        "connection.wait": "the library's: it names its socket to a poller",
    },
    "drivers/vswitches/ovs/database.py": {
        "self._idl.wait": "the library's: it names its socket to a poller",
        "transaction.wait": "likewise",
    },
}
"""Waits that are none, are short, or are no business of the main thread; each with its reason."""
SOURCES = {relative(path).removeprefix("vsperf/"): path for path in modules()}


def raw_waits(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each call that waits by itself."""
    tree = ast.parse(text)
    known = {
        name.asname or name.name: f"{node.module}.{name.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in OF_MODULES
        for name in node.names
        if name.name in OF_MODULES[node.module]
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in known or name == "input":
                yield node.lineno, known.get(name, name)
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if _waits(value, name, node):
                yield node.lineno, f"{ast.unparse(value)}.{name}"
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (
                name in OF_MODULES.get(module, ()) and module != "select"
            ):
                yield node.lineno, f"{module}.{name}"  # also where it is handed to another


def _waits(value: ast.expr, name: str, call: ast.Call) -> bool:
    if name == "join":
        return ast.unparse(value).endswith(OF_THREADS)
    on = value.id if isinstance(value, ast.Name) else ""
    if name == "poll":
        return on == "select" or (bool(call.args) and _is_time(call.args[0]))
    return name in METHODS or name in OF_MODULES.get(on, ())


def _is_time(argument: ast.expr) -> bool:
    return not (isinstance(argument, ast.Constant) and argument.value == 0)


def test_no_wait_is_made_but_by_the_module_that_notices_ctrl_c() -> None:
    found = [
        f"{place}:{line}: {name}"
        for place, path in sorted(SOURCES.items())
        if place not in OWN_PROGRAMS
        for line, name in sorted(set(raw_waits(path.read_text())))
        if name not in ALLOWED.get(place, {})
    ]
    assert found == [], "take vsperf.waits, or say in ALLOWED why Ctrl-C need not be noticed there"


def test_every_exception_is_still_one() -> None:
    stale = [
        f"{place}: {name}"
        for place, names in ALLOWED.items()
        for name in names
        if name not in {found for _, found in raw_waits(SOURCES[place].read_text())}
    ]
    assert stale == []


def test_what_waits_is_found_however_it_is_called() -> None:
    text = (
        "import time, select\nfrom subprocess import run as do\nfrom time import sleep\n"
        "time.sleep(1)\nsleep(2)\ndo(['true'])\nprogram.wait(3)\nclock(time.sleep)\n"
        "', '.join(words)\nthread.join(1)\nselect.select([], [], [])\nprogram.poll()\n"
        "from vsperf.waits import sleep as ours\nours(1)\npoll.poll(50)\n"
    )
    assert [line for line, _ in sorted(set(raw_waits(text)))] == [4, 5, 6, 7, 8, 10, 11, 15]
