# SPDX-License-Identifier: MIT OR Apache-2.0
"""The programs of bench/programs/program_list.txt, and workloads of pthreads: each does its work
under our locks, with few threads and with many, prints its figure, and finds out when its locks do not lock.

Shown able to fail: a library that leaves the locks as they are (no program notices anything); a name in the list that
is no program's; another figure's name; --writers that read, too.
"""

import os
import re
import resource
import subprocess
import time
from pathlib import Path

import pytest
from conftest import PROGRAMS

LIST = Path(__file__).resolve().parents[2] / "bench" / "programs" / "program_list.txt"
LISTED = [line.split() for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
NAMES = [one[0] for one in LISTED]
THAT_WAIT_AT_BARRIERS = ("cell-fluid", "conjugate-gradient", "grid-relaxation", "integer-ranking", "lu-factors",
                         "multigrid", "radix-sort", "volume-renderer")
OF_PTHREADS = ["poll-under-lock", "phases", "stages", "task-queue"]
LOCKS_THAT_DO_NOTHING = os.environ.get("LOCKS_THAT_DO_NOTHING", "")


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@pytest.mark.parametrize("name, figure, arguments", [(one[0], one[1], one[2:]) for one in LISTED], ids=NAMES)
def test_it_does_its_work_under_our_locks(holdfast, name, figure, arguments):
    result = holdfast("compare", "--rounds", "1", "--locks", "glibc,flexguard", "--threads", "1,40", "--timeout", "100",
                      "--metric", f"^{figure} : ([0-9]+) ", "--", PROGRAMS / name, "--threads", "{}",
                      "--seconds", "0.05", *arguments, timeout=220)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.skipif(not LOCKS_THAT_DO_NOTHING, reason="LOCKS_THAT_DO_NOTHING is not set: run by ctest")
@pytest.mark.parametrize("name, arguments", [(one[0], one[2:]) for one in LISTED] + [
    (name, ["--work-us", "0.1"]) for name in OF_PTHREADS], ids=NAMES + OF_PTHREADS)
def test_it_finds_out_when_its_locks_do_not_lock(name, arguments, tmp_path):
    # Threads need not meet in any one run, so it has many.
    end, attempts = time.monotonic() + 8, 0
    while attempts < 20 or time.monotonic() < end:
        attempts += 1
        try:
            result = subprocess.run([PROGRAMS / name, "--threads", "4", "--seconds", "0.05", *arguments],
                                    env=os.environ | {"LD_PRELOAD": LOCKS_THAT_DO_NOTHING, "TMPDIR": str(tmp_path)},
                                    capture_output=True, text=True, errors="replace", timeout=20, check=False,
                                    stdin=subprocess.DEVNULL, preexec_fn=no_core)
        except subprocess.TimeoutExpired:
            return  # its data were damaged so that it found no end
        if result.returncode != 0:
            assert result.returncode < 0 or (result.returncode == 1 and f"{name}: " in result.stderr)
            return
    # These call the library in the middle of what their locks protect, and meet there whatever the machine does.
    assert name not in ("clustering", "pipeline", "request-service", *THAT_WAIT_AT_BARRIERS), "it never noticed"
    pytest.skip("its threads never met: the machine is too busy")


STORES = [("kyotocabinet", "cache"), ("kyotocabinet", "hash"), ("kyotocabinet", "tree"), ("leveldb", None),
          ("rocksdb", None)]


@pytest.mark.parametrize("name, store", STORES)
def test_some_write_while_others_read(holdfast, name, store):
    more = ["--keys", "1000", *(["--store", store] if store else [])]
    # A reader-writer lock may starve writers, so that how much they write among readers proves nothing.
    for writers, does, does_not in (("1", "write", "read"), ("0", "readrandom", "write")):
        for seconds in ("0.2", "0.5", "5"):  # longer, where the machine did not let it run
            result = subprocess.run([PROGRAMS / name, "--threads", "1", "--writers", writers, "--seconds", seconds,
                                     *more],
                                    capture_output=True, text=True, timeout=100, check=True, stdin=subprocess.DEVNULL)
            figures = dict(re.findall(r"^(\w+) : ([0-9]+) ops/s$", result.stdout, re.MULTILINE))
            if figures[does] != "0":
                break
        assert int(figures[does]) > 0 and figures.get(does_not, "0") == "0", figures
    for figure in ("read", "write"):
        result = holdfast("compare", "--rounds", "1", "--locks", "glibc,uscl", "--timeout", "100", "--metric",
                          f"^{figure} : ([0-9]+) ", "--", PROGRAMS / name, "--threads", "4", "--writers", "2",
                          "--seconds", "0.1", *more, timeout=220)
        assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_it_explains_itself(name):
    def run(*arguments):
        return subprocess.run([PROGRAMS / name, *arguments], capture_output=True, text=True, timeout=60, check=False)

    assert "--threads" in run("--help").stdout
    result = run("--threads", "0")
    assert result.returncode == 2
    assert re.fullmatch(rf"{name}: .*'0' is not a whole number from 1 to 10000\n", result.stderr)
