"""What a machine says on its way to a terminal, a file or a pipe."""

from __future__ import annotations

import io
import itertools

import pytest

from vsperf.cli.foreign_words import HARMLESS, PLAIN, Words

ATTACKS = (
    b"\x1b]0;title\x07",  # the window's title, which a terminal can be asked to type
    b"\x1b[21t",
    b"\x1b[c",
    b"\x1b[5n",
    b"\x1bP$qm\x1b\\",  # and types back
    b"\x1b]52;c;Y3VybA==\x07",  # the clipboard
    b"\x1b[?1049h",
    b"\x1bc",
    "\x9b5n".encode(),
    b"\x9b5n",
    b"\x1b[" + b"1;" * 100 + b"m",
    b"\x0e\x05",
)
EDITING = b"\x1b[31mred\x1b[0m\r\x1b[K\x1b[3D\x1b[JC\b\a\r\n\t\xc3\xa9"


def shown(*said: bytes, terminal: bool = True, editing: bool = False) -> bytes:
    output = io.BytesIO()
    words = Words(output, terminal, editing)
    for piece in said:
        words.write(piece)
    words.end()
    return output.getvalue()


def obeyed(text: bytes) -> set[str]:
    return {one for one in text.decode() if not one.isprintable()} - {"\n", "\t"}


def test_a_terminal_gets_nothing_that_it_obeys_of_a_commands_output() -> None:
    for attack in (*ATTACKS, EDITING):
        assert obeyed(shown(b"a", attack, b"b")) == set(), attack


def test_at_a_terminal_only_editing_and_colours_pass() -> None:
    for attack in ATTACKS:
        text = shown(attack, editing=True).removesuffix(PLAIN.encode())
        assert obeyed(HARMLESS.sub("", text.decode()).encode()) == set(), attack
        assert b"\x1b" not in text, attack


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_editing_and_colours_pass_however_they_are_cut(size: int) -> None:
    pieces = [EDITING[at : at + size] for at in range(0, len(EDITING), size)]
    assert shown(*pieces, editing=True) == EDITING + PLAIN.encode()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_attack_gets_through_in_pieces(size: int) -> None:
    for attack in ATTACKS:
        pieces = [attack[at : at + size] for at in range(0, len(attack), size)]
        assert b"\x1b" not in shown(*pieces, editing=True).removesuffix(PLAIN.encode()), attack


def test_a_question_for_the_cursor_is_not_asked() -> None:
    assert shown(b"~ # \x1b[6", b"n", editing=True) == b"~ # " + PLAIN.encode()


def test_a_file_or_a_pipe_gets_the_bytes_as_they_are() -> None:
    everything = bytes(itertools.chain(range(256), range(256)))
    assert shown(everything, terminal=False) == everything
