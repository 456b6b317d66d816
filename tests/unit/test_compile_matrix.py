"""How the C parts are compiled for other processors: as meson says, but for the compiler."""

import json
from pathlib import Path

import pytest
from conftest import REPOSITORY
from test_attacks import load_tool


@pytest.mark.parametrize("compiler", ["cc", "ccache cc", "/usr/bin/ccache /usr/bin/gcc"])
def test_the_compiler_that_meson_found_is_left_out_with_what_it_runs_behind(
    tmp_path: Path, compiler: str
) -> None:
    tool = load_tool("compile-matrix")
    source = REPOSITORY / "tools" / "tgen" / "src" / "frames" / "arp.c"
    entry = {
        "directory": str(tmp_path),
        "command": f"{compiler} -Isrc -O3 -MD -MQ arp.c.o -MF arp.c.o.d -o arp.c.o -c {source}",
        "file": str(source),
        "output": "arp.c.o",
    }
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))

    (found,) = tool.built_by_meson(tmp_path)

    assert found.arguments == ("-Isrc", "-O3")
