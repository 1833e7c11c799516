# SPDX-License-Identifier: MIT OR Apache-2.0
"""The interposer's symbols: those of the export map, all that glibc has for these objects, and none that it has not."""

import re
import subprocess
from pathlib import Path

from conftest import INTERPOSER

LIST_EXPORTS = Path(__file__).resolve().parents[2] / "tools" / "list-exports"


def dynamic_symbols(library):
    command = ["nm", "--dynamic", "--defined-only", "--with-symbol-versions", str(library)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^[0-9a-f]+ [TWi] (\S+?)@+(\S+)$", listing, re.MULTILINE)
    assert len(found) == len([line for line in listing.splitlines() if " A " not in line]) or "libc" in str(library)
    return set(found)


def glibc():
    maps = subprocess.run(["cat", "/proc/self/maps"], capture_output=True, text=True, check=True).stdout
    return re.search(r"/\S+/libc\.so\.6$", maps, re.MULTILINE)[0]


def test_glibc_has_every_symbol_that_leaves_the_library():
    ours = dynamic_symbols(INTERPOSER)
    assert ours and ours <= dynamic_symbols(glibc())


def test_the_documented_table_is_complete():
    listed = subprocess.run([LIST_EXPORTS], capture_output=True, text=True, check=True).stdout
    assert {name for name, _ in dynamic_symbols(INTERPOSER)} == set(re.findall(r"`(\w+)`", listed))


# Shown able to fail: without __pthread_rwlock_wrlock, without pthread_mutex_trylock@GLIBC_2.34 and without
# pthread_spin_destroy among those that are left.
def test_no_function_of_glibcs_for_these_objects_is_forgotten():
    result = subprocess.run([LIST_EXPORTS, "--missing", glibc()], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
