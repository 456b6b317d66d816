"""The parts of the agent in the guest that need no guest: what it reads, and what it writes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import Require

AGENT = Path(__file__).resolve().parents[2] / "vnfs" / "agent"
REQUEST = r'{"id":1,"verb":"start","nics":["52:54"],"deep":{"a\n":[1,-2,null,true]},"u":"\u0041\""}'
WHOLE = '{"id":1,"nics":["52:54"],"n":-12}'
GOOD = ('{"a":[1,-2,{"b":null}],"c":"\\u0041\\n","d":true}', " 18446744073709551615 ", "[]", WHOLE)
BAD = (
    *("", "{", "[1,]", '{"a":1,"a":2}', "1.5", "1e3", "01", '"\\x"', '"\n"', "[1]x", "nul"),
    *("[" * 1000, "-", '"\\u12"', "99999999999999999999", '{"a" 1}', '"abc'),
    *(WHOLE[:length] for length in range(1, len(WHOLE), 4)),
)
HALVES = ('{"a\\', '{"a\n', '["a\\', '"a\\', '"\\u', '{"a"', "[1")


@pytest.fixture(name="program", scope="module")
def fixture_program(tmp_path_factory: pytest.TempPathFactory, require: Require) -> Path:
    """Return a program that reads a request, or quotes bytes, under sanitizers."""
    require("gcc")
    folder = tmp_path_factory.mktemp("agent")
    (folder / "main.c").write_text(PROGRAM)
    argv = ["gcc", "-std=c11", "-D_DEFAULT_SOURCE", f"-I{AGENT}", "-o", "program", "main.c"]
    argv += [str(path) for path in sorted(AGENT.glob("*.c")) if path.name != "main.c"]
    argv += ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    subprocess.run(argv, cwd=folder, check=True)
    return folder / "program"


@pytest.mark.parametrize("text", GOOD)
def test_the_agent_reads_json(program: Path, text: str) -> None:
    assert subprocess.run([program, "read", text], check=False).returncode == 0


def test_a_request_that_breaks_off_anywhere_is_read_no_further_than_it_goes(program: Path) -> None:
    assert subprocess.run([program, "every-beginning", REQUEST], check=False).returncode == 0


@pytest.mark.parametrize("text", [*BAD, *HALVES])
def test_what_is_not_quite_json_is_refused_and_no_byte_behind_it_read(
    program: Path, text: str
) -> None:
    done = subprocess.run([program, "read", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


def test_what_an_application_wrote_becomes_at_most_twice_as_long(program: Path) -> None:
    said = bytes(range(1, 256))
    argv = [str(program).encode(), b"quote", said]
    done = subprocess.run(argv, capture_output=True, check=False)
    assert len(done.stdout) <= 2 * len(said) + 2
    assert json.loads(done.stdout) == "".join(
        chr(byte) if 0x20 <= byte < 0x7F or byte in b"\n\t" else "?" for byte in said
    )


@pytest.mark.parametrize(
    ("cpus", "workers", "word"),
    [(1, 1, "--lcores=0@0,1@0"), (2, 1, "--lcores=0-1"), (128, 127, "--lcores=0-127")],
)
def test_testpmd_gets_all_its_workers_however_many(
    program: Path, cpus: int, workers: int, word: str
) -> None:
    argv = [str(program), "lcores", f"{cpus} {workers}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, word)


PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "application.h"
#include "json.h"
#include "text.h"

/* In memory that ends where the text does. */
static int
is_wrong(const char *text, size_t length)
{
	static struct json json;
	char *copy = malloc(length + 1);
	int wrong;

	memcpy(copy, text, length);
	copy[length] = 0;
	wrong = json_read(&json, copy) != NULL;
	free(copy);
	return wrong;
}

int
main(int argc, char **argv)
{
	static char bytes[4096];
	struct text text;

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "read") == 0)
		return is_wrong(argv[2], strlen(argv[2]));
	if (strcmp(argv[1], "quote") == 0) {
		text_init(&text, bytes, sizeof(bytes));
		text_quote(&text, argv[2], strlen(argv[2]));
		return fwrite(bytes, text.length, 1, stdout) != 1;
	}
	if (strcmp(argv[1], "lcores") == 0) {
		static struct application application;
		unsigned int cpus = 0, workers = 0;

		sscanf(argv[2], "%u %u", &cpus, &workers);
		text_init(&application.storage, application.bytes, sizeof(application.bytes));
		testpmd_lcores(&application, cpus, workers);
		return application.argc != 1 || fputs(application.argv[0], stdout) < 0;
	}
	for (size_t length = 0; length < strlen(argv[2]); length++) {
		if (!is_wrong(argv[2], length))
			return 3;
	}
	return is_wrong(argv[2], strlen(argv[2]));
}
"""
