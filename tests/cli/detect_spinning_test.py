# SPDX-License-Identifier: MIT OR Apache-2.0
"""holdfast run --detect-spinning: threads that spin in loops of their program's own give up their CPU, others are let
alone.

Shown able to fail: a signal sent to threads that block it (blocked); each short loop taken for one that waits, or
the fast clock always on (a program that computes); the fast clock never on (spinners); a detector that comes at once
(a program that is hardly busy), never (spinners without --stats), or that no clock goes on to (all others); a lock
whose loop calls a function (each lock), code that is read for 128 bytes around alone (shuffle); a handler that only
yields (nobody else to run; on a machine that has nothing else to do).
"""

import os
import re
import resource
import subprocess
import sys

import pytest

from conftest import PROGRAMS, without_rights

TOKEN_RING = os.environ["TOKEN_RING"]
SPIN_LOCKS, SPIN_PIPELINE = PROGRAMS / "spin-locks", PROGRAMS / "spin-pipeline"
needs_bpf = pytest.mark.skipif(os.getuid() != 0, reason="needs root to load BPF")


def spinning(result):
    assert "busy-waiting detection by sampling" in result.stderr, result.stderr
    return {name.strip(): int(value) for name, value in re.findall(r"^  (\D+?)\s+(\d+)$", result.stderr, re.MULTILINE)}


def run_on(cpus, holdfast, *arguments):
    kept = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, sorted(kept)[:cpus])
        return holdfast("run", "--stats", "--detect-spinning", *arguments, timeout=200)
    finally:
        os.sched_setaffinity(0, kept)


@needs_bpf
@pytest.mark.parametrize("lock", ["default", "glibc"])
def test_spinners_yield(holdfast, lock):
    result = run_on(2, holdfast, "--lock", lock, "--", TOKEN_RING, 8, 50)
    assert result.returncode == 0, result
    counted = spinning(result)
    assert counted["yields asked for"] > 0 and counted["yields asked for"] == counted["spinning detected"], counted


@needs_bpf
@pytest.mark.parametrize("lock", ["array", "clh", "cna", "malthusian", "mcs", "partitioned-ticket", "pthread-spin",
                                  "shuffle", "ticket", "ttas"])
def test_a_spinner_is_detected_whatever_its_lock(holdfast, lock):
    result = run_on(1, holdfast, "--conf", "spin:glibc", "--", SPIN_LOCKS, "--lock", lock, "--tries", 30)
    assert result.returncode == 0 and "of 30 tries met it held" in result.stdout, result
    assert spinning(result)["yields asked for"] > 0, result


@needs_bpf
@pytest.mark.parametrize("lock", ["mcs", "shuffle", "ttas"])
def test_a_pipeline_of_spinners_comes_to_its_end(holdfast, lock):
    result = run_on(2, holdfast, "--conf", "spin:glibc", "--", SPIN_PIPELINE, "--lock", lock, "--threads", 8, "--steps",
                    400)
    assert result.returncode == 0 and "50 rounds of 8 stages" in result.stdout, result
    assert spinning(result)["yields asked for"] > 0, result


# The kernel's scheduler may let a thread go on that yields.
SWITCHES_OF_YIELDS = """
import resource, signal
def switches():
    now = resource.getrusage(resource.RUSAGE_THREAD)
    return now.ru_nvcsw + now.ru_nivcsw
before = switches()
for _ in range(100):
    signal.raise_signal(64)
print(switches() - before)
"""


@needs_bpf
def test_a_spinner_gives_its_cpu_up_when_nobody_else_is_to_run(holdfast):
    result = holdfast("run", "--detect-spinning", "--", sys.executable, "-c", SWITCHES_OF_YIELDS)
    assert result.returncode == 0 and int(result.stdout) > 50, result


@needs_bpf
@pytest.mark.parametrize("mode", ["blocked", "taken", "handled"])
def test_a_thread_that_does_not_take_the_signal_is_sent_none(holdfast, mode):
    result = run_on(1, holdfast, "--", TOKEN_RING, 2, 20, mode)
    assert result.returncode == 0 and result.stdout.endswith(" 0 handled\n"), result
    counted = spinning(result)
    assert counted["yields asked for"] == 0 and counted["yields not possible"] > 0, counted


@needs_bpf
def test_a_program_that_computes_is_let_alone(holdfast):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    result = run_on(1, holdfast, "--", TOKEN_RING, 2, 1000000, "compute")
    used_ms = (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) * 1000
    assert result.returncode == 0, result
    counted = spinning(result)
    assert counted["samples while others waited"] > 100 and counted["spinning detected"] == 0, counted
    assert counted["samples"] <= used_ms * 2, counted  # the slow clock's alone


# What holdfast has loaded, as its child sees it: without the detector there is the clock's program alone.
HOW_MANY_LOADED = "ls -l /proc/$PPID/fd | grep -c bpf-prog"


@needs_bpf
def test_the_detector_comes_when_a_program_is_busy(holdfast):
    result = holdfast("run", "--detect-spinning", "--", "sh", "-c",
                      f"until [ $({HOW_MANY_LOADED}) -gt 1 ]; do {TOKEN_RING} 2 10; done", timeout=200)
    assert result.returncode == 0, result


# There is time enough to load anything.
@needs_bpf
def test_no_detector_comes_where_a_program_is_hardly_busy(holdfast):
    result = holdfast("run", "--detect-spinning", "--", "sh", "-c", f"sleep 1; {HOW_MANY_LOADED}")
    assert result.returncode == 0 and result.stdout == "1\n", result


@needs_bpf
def test_children_are_watched_too(holdfast):
    result = run_on(1, holdfast, "--", "sh", "-c", f"{TOKEN_RING} 2 20; exit 7")
    assert result.returncode == 7 and spinning(result)["yields asked for"] > 0, result


@needs_bpf
def test_a_program_that_executes_another_does_not_die_of_it(holdfast):
    # The second has no interposer, hence no handler: it spins as it does without us.
    result = run_on(1, holdfast, "--", "env", "-u", "LD_PRELOAD", TOKEN_RING, 2, 20)
    counted = spinning(result)
    assert result.returncode == 0 and counted["yields asked for"] == 0 and counted["yields not possible"] > 0, result


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give rights up")
def test_without_rights_one_sentence_and_the_program_runs(installed_for_all):
    result = subprocess.run(without_rights(installed_for_all, "run", "--detect-spinning", "--", "echo", "ran"),
                            capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0 and result.stdout == "ran\n"
    assert re.fullmatch(r"holdfast: no thread that spins is made to yield: [^\n]+; [^\n]+\n", result.stderr), result
