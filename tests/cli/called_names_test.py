# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the libraries call by name inside other people's programs is called_names.txt, and no more.

Relocations are looked at, not undefined symbols: a call of a name that the library exports itself goes to whoever
stands before it, too.

Shown able to fail: nanosleep in park/timed_sleep.c and clock_gettime in park/deadline.h in the place of our own (both
are named); a name in the list that nobody calls.
"""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import INTERPOSER

LIST = Path(__file__).with_name("called_names.txt")
LIBRARIES = {"libholdfast-preload.so": INTERPOSER, "libholdfast.so": Path(INTERPOSER).with_name("libholdfast.so")}


def allowed():
    """{name: reason}"""
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(maxsplit=1) for line in lines)


def called_by(library):
    command = ["readelf", "--relocs", "--wide", str(library)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^[0-9a-f]+ +[0-9a-f]+ R_\w+ +[0-9a-f]+ ([A-Za-z_]\w*)", listing, re.MULTILINE))
    assert "getauxval" in names, "not what readelf prints"
    return {name for name in names if not name.startswith("hf_")}  # what libholdfast.so is for


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_calls_nothing_that_is_not_in_the_list(library):
    others = called_by(LIBRARIES[library]) - set(allowed())
    assert not others, f"{library} calls what may be the program's or another preload's; see {LIST.name}"


def test_all_that_is_in_the_list_is_called():
    called = set().union(*map(called_by, LIBRARIES.values()))
    unused = set(allowed()) - called - {"memmove", "strcpy"}  # the compiler's choice
    assert not unused
