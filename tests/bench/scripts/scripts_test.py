# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scripts that measure programs, with stand-ins for what they start: what is run, how often, and what is made of it.

Shown able to fail, each by the tests named: a ratio to another round's reference (groups), the order that does not
rotate (groups), detection for programs that never spin (groups); quartiles of all servers' runs together (latencies),
one that leaves its server running (latencies).
"""

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CPUS = len(os.sched_getaffinity(0))
PATIENCE = 200  # seconds: for what hangs

# Says how it was started, in a line of its own, and goes on as the program that is named to it.
HOLDFAST = """#!/bin/sh
detects=
for word; do
    shift
    case $word in
        --detect-spinning) detects=detection ;;
        --stats) stats=yes ;;
        --) break ;;
    esac
done
[ -z "${stats-}" ] || printf '%s\\n' '  samples   900' '  samples while others waited   812' \\
    '  spinning detected   3' >&2
UNDER=${detects:-holdfast} exec "$@"
"""

# Does so much a second as RATES says of how it was started: "UNDER THREADS VALUE..." in a line, of which each run takes
# the next value. The last stays.
PROGRAM = """#!/usr/bin/python3
import os, sys
from pathlib import Path
threads = sys.argv[sys.argv.index("--threads") + 1]
name, under, home = Path(sys.argv[0]).name, os.environ.get("UNDER", "glibc"), Path(os.environ["STAND_IN"])
with (home / "runs").open("a") as runs:
    print(name, under, threads, *sys.argv[1:], file=runs)
key = f"{name} {under} {threads}"
if not (home / key).exists():
    sys.exit(f"{name}: no rate of '{key}'")
value, *others = (home / key).read_text().split()
(home / key).write_text(" ".join(others or [value]))
print(f"rounds : {value} 1/s")
"""

MEMCACHED = """#!/usr/bin/python3
import os, socket, sys
from pathlib import Path
option = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with (Path(os.environ["STAND_IN"]) / "servers").open("a") as servers:
    print(os.getpid(), os.environ.get("UNDER", "plain"), option["-t"], file=servers)
with socket.create_server((option["-l"], int(option["-p"]))) as listener:
    while True:
        listener.accept()[0].close()
"""

# Latencies of the server that was started last: its workers, tenfold under Holdfast, plus the number of the run.
LOAD = """#!/usr/bin/python3
import os, socket, sys
from pathlib import Path
option, home = dict(zip(sys.argv[1::2], sys.argv[2::2])), Path(os.environ["STAND_IN"])
socket.create_connection(("127.0.0.1", int(option["--port"]))).close()
servers = (home / "servers").read_text().splitlines()
_, under, workers = servers[-1].split()
if (home / "fails").exists():
    sys.exit("memcached-open-loop: wrong result: memcached's answer is wrong")
number = sum(line.split()[1:] == [under, workers] for line in servers)
p50 = int(workers) * (10 if under == "holdfast" else 1)
for name, value in (("latency-p50", p50), ("latency-p95", 2 * p50), ("latency-p99", 100 * p50 + number),
                    ("sent-late-p99", int(option["--rate"]) // 100)):
    print(f"{name} : {value} us")
"""


def put(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


class Scripts:
    """The scripts in a tree of their own, whose build is made of stand-ins."""

    def __init__(self, home):
        self.home, self.root = home, home / "root"
        shutil.copytree(ROOT / "bench" / "scripts", self.root / "bench" / "scripts")
        put(self.root / "build/release/bin/holdfast", HOLDFAST)
        put(self.root / "build/release/libexec/holdfast/memcached-open-loop", LOAD)
        put(home / "bin/memcached", MEMCACHED)

    def program(self, name, rates):
        """`rates`: (how it runs, threads) -> what it does in a second, run after run."""
        put(self.root / "build/release/libexec/holdfast" / name, PROGRAM)
        for (under, threads), values in rates.items():
            (self.home / f"{name} {under} {threads}").write_text(" ".join(map(str, values)))

    def __call__(self, script, *arguments):
        return subprocess.run(
            [self.root / "bench/scripts" / script, *map(str, arguments)], capture_output=True, text=True, check=False,
            timeout=PATIENCE, stdin=subprocess.DEVNULL,
            env={**os.environ, "STAND_IN": str(self.home), "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}"})

    def lines(self, name):
        return [line.split() for line in (self.home / name).read_text().splitlines()]


@pytest.fixture(name="scripts")
def fixture_scripts(tmp_path):
    return Scripts(tmp_path)


def row_of(result, name):
    [row] = [line for line in result.stdout.splitlines() if line.startswith(name)]
    return row


# What is done with few threads changes from round to round, so that ratios within a round are other ones than those of
# medians.
FEW = [100, 50, 200]


def rates(at_4, at_8):
    return {("glibc", CPUS): FEW,
            ("glibc", 4 * CPUS): [round(at_4 * few) for few in FEW], ("holdfast", 4 * CPUS): FEW,
            ("glibc", 8 * CPUS): [round(at_8 * few) for few in FEW], ("holdfast", 8 * CPUS): [50, 50, 50],
            ("detection", 4 * CPUS): FEW, ("detection", 8 * CPUS): [2 * few for few in FEW]}


@pytest.mark.parametrize("at_8, group", [(0.5, "slower"), (1.02, "unaffected"), (1.5, "faster")])
def test_groups_go_by_glibc_with_the_most_threads(scripts, tmp_path, at_8, group):
    scripts.program("multigrid", rates(0.8, at_8))
    result = scripts("oversubscription-groups", "--rounds", 3, "--seconds", 0.01, "--json", tmp_path / "runs.json",
                     "multigrid --size 3")
    assert result.returncode == 0, result.stderr
    assert row_of(result, "multigrid --size 3").split() == [
        "multigrid", "--size", "3", "100", group, "0.80", "(0.80,", "0.80)", "1.00", "(1.00,", "1.00)", "-",
        f"{at_8:.2f}", f"({at_8:.2f},", f"{at_8:.2f})", "0.50", "(0.25,", "1.00)", "-"]
    runs = scripts.lines("runs")
    assert all(run[3:5] == ["--size", "3"] and run[-2:] == ["--seconds", "0.01"] for run in runs)
    ways = [("glibc", CPUS), ("glibc", 4 * CPUS), ("holdfast", 4 * CPUS), ("glibc", 8 * CPUS), ("holdfast", 8 * CPUS)]
    assert [(run[1], int(run[2])) for run in runs] == ways + ways[1:] + ways[:1] + ways[2:] + ways[:2]
    records = json.loads((tmp_path / "runs.json").read_text())
    assert [(one["threads"], one["per_s"]) for one in records[:2]] == [(CPUS, 100), (4 * CPUS, 80)]
    for one in records:
        assert set(one) == {"program", "contender", "threads", "per_s", "cpu_use", "context_switches_per_s"}
        assert one["cpu_use"] > 0 and one["context_switches_per_s"] >= 0


def test_programs_that_spin_run_with_detection_as_well(scripts):
    scripts.program("lu-factors", rates(0.8, 0.5))
    result = scripts("oversubscription-groups", "--rounds", 3, "--seconds", 0.01, "lu-factors")
    assert result.returncode == 0, result.stderr
    assert row_of(result, "lu-factors").split()[-3:] == ["2.00", "(2.00,", "2.00)"]
    assert {(run[1], int(run[2])) for run in scripts.lines("runs")} == set(rates(1, 1))


def test_a_program_that_fails_ends_the_script_with_its_sentence(scripts):
    scripts.program("multigrid", {("glibc", CPUS): FEW})
    result = scripts("oversubscription-groups", "--rounds", 1, "--seconds", 0.01, "multigrid")
    assert result.returncode == 1
    assert result.stderr.startswith("oversubscription-groups: ")
    assert result.stderr.endswith(f" ended with 1: multigrid: no rate of 'multigrid glibc {4 * CPUS}'\n")


def test_a_program_that_is_not_built_is_a_usage_error(scripts):
    result = scripts("oversubscription-groups", "nothing")
    assert result.returncode == 2 and "there is no program 'nothing'" in result.stderr


def test_specificity_counts_samples_and_detections(scripts):
    scripts.program("multigrid", rates(1, 1))
    result = scripts("oversubscription-groups", "--specificity", "--seconds", 0.01, "multigrid")
    assert result.returncode == 0, result.stderr
    assert row_of(result, "multigrid").split() == ["multigrid", "812", "3"]
    assert [run[:3] for run in scripts.lines("runs")] == [["multigrid", "detection", str(8 * CPUS)]]


def is_gone(process):
    return not Path("/proc", process).exists() or " Z " in Path("/proc", process, "stat").read_text()


def test_latencies_of_each_server_are_its_own(scripts, tmp_path):
    result = scripts("memcached-latency", "--rounds", 4, "--seconds", 0.01, "--rates", "3000", "--workers", "2,8",
                     "--json", tmp_path / "runs.json")
    assert result.returncode == 0, result.stderr
    for name, p50 in (("2 workers, plain", 2), ("2 workers, holdfast", 20), ("8 workers, plain", 8),
                      ("8 workers, holdfast", 80)):
        # The median of four runs; a half goes to the even number.
        assert row_of(result, f"3000        {name}").split()[-7:] == [
            str(p50), str(2 * p50), str(round(100 * p50 + 2.5)), "30", str(100 * p50 + 2), "to", str(100 * p50 + 3)]
    ways = [("plain", "2"), ("holdfast", "2"), ("plain", "8"), ("holdfast", "8")]
    servers = scripts.lines("servers")
    assert [tuple(one[1:]) for one in servers] == [way for first in range(4) for way in ways[first:] + ways[:first]]
    assert all(is_gone(one[0]) for one in servers)
    records = json.loads((tmp_path / "runs.json").read_text())
    assert len(records) == 16
    assert records[1] == {"rate": 3000, "server": "2 workers, holdfast", "latency-p50": 20, "latency-p95": 40,
                          "latency-p99": 2001, "sent-late-p99": 30}


def test_a_failed_load_ends_server_and_script(scripts):
    (scripts.home / "fails").touch()
    result = scripts("memcached-latency", "--rounds", 1, "--seconds", 0.01, "--rates", "3000", "--workers", "2")
    assert result.returncode == 1
    assert result.stderr.startswith("memcached-latency: ") and result.stderr.endswith("memcached's answer is wrong\n")
    [server] = scripts.lines("servers")
    assert is_gone(server[0])
