# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `record`, `top --stacks` and `doctor --watch` say of waits that are not a mutex's, and of programs that tell
little of themselves: reader-writer locks, conditions, semaphores, futexes of a program's own, Python's GIL, machines
whose threads sleep at words of their own, code made at run time, stripped programs, preempted holders.
"""

import csv
import io
import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, assert_usage_error, wait_until

PROGRAM = os.environ.get("KNOWN_WAITS_OF_KINDS", "build/release/tests/cli/known_waits_of_kinds")
MADE_BY_GO = os.environ.get("MADE_BY_GO", "build/release/tests/cli/made_by_go")
KERNEL_BEFORE_5_18 = os.environ.get("KERNEL_BEFORE_5_18", "build/release/tests/cli/libkernel_before_5_18.so")
SERVER = os.environ.get("KNOWN_HOT_SPOTS", "build/release/tests/cli/known_hot_spots")
PATIENCE_S = 60
as_root = pytest.mark.skipif(os.getuid() != 0, reason="waits of programs are root's to see")
THREADS_OF_PYTHON = """
import sys, threading
def crunch():
    while True:
        sum(i * i for i in range(10000))
for _ in range(4):
    threading.Thread(target=crunch, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
import os
os._exit(0)
"""


@pytest.fixture(name="start")
def start_programs():
    """Starts a program; it runs when this returns, and ends with its standard input."""
    started = []

    def start(*command):
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process.pid

    yield start
    for process in started:
        process.stdin.close()
        process.wait()
        process.stdout.close()


@pytest.fixture(name="report")
def record_and_report(holdfast, tmp_path):
    """What the report says of the process's next seconds, as text; beside it the recording."""
    path = tmp_path / "recording.json"

    def record(pid, *options):
        result = holdfast("record", "--pid", pid, "--seconds", 1.5, "-o", path)
        assert result.returncode == 0, result.stderr
        result = holdfast("report", path, *options)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return record


def section(text, title):
    """The lines below a title of a report, to the next one."""
    return text.partition(f"\n{title}: ")[2].partition("\n\n")[0]


def rows_until(holdfast, pid, wanted):
    """Looks with `top` until the locks of the process fulfil the condition, and returns them."""

    def looked():
        shown = holdfast("top", "--batch", "--json", "-n", 3, "--delay", 0.4, "--stacks", "--filter", pid)
        for process in json.loads(shown.stdout.splitlines()[-1])["processes"]:
            if process["pid"] == pid and wanted(process["locks"]):
                return process
        return None

    return wait_until(looked, PATIENCE_S)


# Shown able to fail: without the row of pthread_rwlock_ (wait_kind.cpp).
@as_root
def test_reader_writer_locks_are_locks(start, report):
    locks = section(report(start(PROGRAM, "rwlock")), "locks")
    assert "100.0%  table_lock\n" in locks and "pthread_rwlock_wrlock" in locks, locks
    assert "touch_the_table" in locks and "in rewrite_the_table" in locks.partition("held by")[2].splitlines()[0]


# Waits that are older than those that look, and do not end: what a program that hangs has. Shown able to fail, seen by
# the release before: "no thread waited in a futex", and no line in `top`.
@as_root
def test_a_program_that_hangs_is_told_where(start, report):
    text = report(start(PROGRAM, "stuck"))
    locks = section(text, "locks")
    assert "100.0%  stuck_lock\n" in locks and "    3.00 waits, " in locks, text
    assert "wait_for_ever (known_waits_of_kinds.cpp:" in locks.partition("waits in")[2].splitlines()[0], text
    assert "nobody woke its waiters" in locks and "held by    100%" not in locks, text


# The same, where the kernel shows it and under Holdfast: each look has three waiters, none that has ended.
@as_root
@pytest.mark.parametrize("under", [[], [COMMAND, "run", "--"]])
@pytest.mark.parametrize("options", [[], ["--stacks"]])
def test_top_shows_who_waits_and_has_not_stopped(start, holdfast, under, options):
    pid = start(PROGRAM, "stuck") if not under else start_under_holdfast(start, PROGRAM, "stuck")

    def waits_for_it():
        shown = holdfast("top", "--batch", "--json", "-n", 3, "--delay", 0.5, "--filter", pid, *options)
        looks = [json.loads(line) for line in shown.stdout.splitlines()]
        found = [[each for each in look["processes"] if each["pid"] == pid] for look in looks[1:]]
        # A machine that is busy may stop the command between the clock and the counts.
        is_right = all(process and process[0]["locks"] and
                       process[0]["locks"][0]["now"]["waiters"] == pytest.approx(3, rel=0.1) for process in found)
        return is_right and [process[0] for process in found]

    for process in wait_until(waits_for_it, PATIENCE_S):
        lock = process["locks"][0]
        assert lock["name"] == "stuck_lock" and lock["now"]["waiting_now"] == 3, lock
        assert process["now"]["waiters"] == pytest.approx(3, rel=0.1), process
        assert process["now"]["waits_per_s"] == 0 and process["so_far"]["longest_wait_ns"] >= 0
        if options and not under:
            assert lock["waits_in"][0]["function"] == "wait_for_ever", lock


# In a pid namespace what is older can't be told whose it is: that is said, and no figure stands for it. Shown able to
# fail, seen by the release before: nothing was said.
@as_root
def test_older_waits_that_are_not_seen_are_said(tmp_path):
    recording = tmp_path / "recording.json"
    script = """
        mkfifo "$2/end" && { "$1" stuck < "$2/end" > "$2/ready" & } && exec 9> "$2/end"
        until grep -q ready "$2/ready"; do sleep 0.05; done
        "$3" top --batch --json -n 1 --delay 0.2 --stacks --filter stuck > "$2/look"
        "$3" record --pid $! --seconds 0.2 -o "$4" && exec "$3" report "$4"
    """
    words = ["unshare", "--mount-proc", "--pid", "--kill-child", "--fork", "sh", "-c", script, "sh", PROGRAM, tmp_path,
             COMMAND, recording]
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=120)
    if "unshare failed" in result.stderr:
        pytest.skip("no pid namespace may be made here")
    assert result.returncode == 0, result.stderr
    said = "waits that began before are not seen from inside of a pid namespace"
    assert f"holdfast: {said}\n" in result.stderr and f"; {said}\n" in result.stdout, (result.stderr, result.stdout)
    look = json.loads((tmp_path / "look").read_text())
    assert look["older_waits_seen"] is False and look["why_no_older_waits"] == said
    assert all(not process["locks"] for process in look["processes"]), look


# What is said of them where the kernel can't show them. Shown able to fail: with an older_waits that is always seen.
@as_root
def test_older_waits_that_an_old_kernel_hides_are_said(start, tmp_path):
    pid, recording = start(PROGRAM, "stuck"), tmp_path / "recording.json"

    def run(*words):
        result = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False, timeout=120,
                                env={**os.environ, "LD_PRELOAD": KERNEL_BEFORE_5_18})
        assert result.returncode == 0, result.stderr
        return result

    said = "waits that began before are not seen: Linux 5.18 shows them"
    assert f"holdfast: {said}\n" in run("record", "--pid", pid, "--seconds", 0.2, "-o", recording).stderr
    assert f"; {said}\n" in run("report", recording).stdout
    shown = run("top", "--batch", "--json", "-n", 1, "--delay", 0.2, "--stacks", "--filter", pid).stdout
    look = json.loads(shown)
    assert look["older_waits_seen"] is False and look["why_no_older_waits"] == f"stacks of {said}"
    [lock] = look["processes"][0]["locks"]  # which the other watch sees
    assert lock["name"] == "stuck_lock" and not lock["waits_in"], lock


# Shown able to fail: with the sleeps' own addresses as what they are for (object_of): two lines for the one condition.
@as_root
def test_conditions_and_semaphores_are_told_apart(start, report, holdfast):
    pid = start(PROGRAM, "cond-and-sem")
    text = report(pid)
    others = section(text, "conditions, semaphores, joins and other sleeps")
    assert others.count("queue_filled\n") == 1 and "wait_for_work" in others and "in give_work" in others, text
    assert others.count("slots\n") == 1 and "take_a_slot" in others and "in free_a_slot" in others, text
    process = rows_until(holdfast, pid, lambda rows: {"slots", "queue_filled"} <= {row["name"] for row in rows})
    kinds = {row["name"]: row["kind"] for row in process["locks"]}
    # sem_wait leaves its frame to a function that only the C library's debugging symbols name.
    assert kinds["queue_filled"] == "cond" and kinds["slots"] in ("sem", "sleep"), kinds
    for row in process["locks"]:
        assert row["is_lock"] == (row["name"] == "queue_mutex"), row
        assert row["kind"] != "cond" or row["waits_in"][0]["function"] == "wait_for_work"
    order = [row["is_lock"] for row in process["locks"]]
    assert order == sorted(order, reverse=True), "locks come first"


def start_under_holdfast(start, *command):
    """The program's number, which is not that of `holdfast run`."""
    runner = start(COMMAND, "run", "--", *command)
    return int(Path(f"/proc/{runner}/task/{runner}/children").read_text().split()[0])


# Shown able to fail: with the word that the thread sleeps at, which is on its stack (waited_for in wait_log.cpp).
@as_root
def test_conditions_under_holdfast_have_their_names(start, report):
    text = report(start_under_holdfast(start, PROGRAM, "cond-and-sem"))
    others = section(text, "conditions, semaphores, joins and other sleeps")
    condition = others.partition("queue_filled\n")[2].partition("%  ")[0]
    assert "pthread_cond_wait" in condition and "wait_for_work" in condition and "in give_work" in condition, text


@as_root
def test_futexes_of_its_own_have_a_section(start, report, holdfast):
    pid = start(PROGRAM, "own")
    own = section(report(pid), "futexes of its own, which may be locks, conditions or queues")
    assert "own_word" in own and "latch_the_page" in own and "woken by" in own, own
    said = holdfast("doctor", "--pid", pid, "--watch", 2).stdout
    assert "out of reach" in said and "own_word" in said, said


@as_root
def test_pythons_lock_is_one_and_is_seen(start, report, holdfast):
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no Python of Debian's")
    pid = start("/usr/bin/python3", "-c", THREADS_OF_PYTHON)
    locks = section(report(pid), "locks")
    assert locks.count("Python's GIL\n") == 1, locks
    process = rows_until(holdfast, pid, lambda rows: any(row["kind"] == "GIL" for row in rows))
    assert process["now"]["waiters"] > 0.3 and len([1 for row in process["locks"] if row["kind"] == "GIL"]) == 1
    said = holdfast("doctor", "--pid", pid, "--watch", 2).stdout
    assert "threads that waited for Python's GIL" in said and "hardly waits" not in said, said


# Shown able to fail: with a line for each word that a thread sleeps at, and a process that seemed to wait for nothing.
@as_root
def test_pythons_lock_is_one_and_is_seen_under_holdfast(start, holdfast):
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no Python of Debian's")
    pid = start_under_holdfast(start, "/usr/bin/python3", "-c", THREADS_OF_PYTHON)
    process = rows_until(holdfast, pid, lambda rows: any(row["kind"] == "GIL" for row in rows))
    assert process["under_holdfast"] and process["now"]["waiters"] > 0.3
    assert len([1 for row in process["locks"] if row["kind"] == "GIL"]) == 1


# In musl what glibc's mutexes look like is a condition, and its mutexes look otherwise. Shown able to fail: without
# `twos` in is_lock_word (lock_words.cpp), without HF_FUTEX_IS_OWNED, without is_in_musl (wait_kind.cpp).
@as_root
@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="needs musl-gcc")
@pytest.mark.parametrize("options", [[], ["-static"]])
@pytest.mark.parametrize("stacks", [[], ["--stacks"]])
def test_musls_mutexes_and_conditions_are_told_apart(start, holdfast, tmp_path, options, stacks):
    program = tmp_path / "in-musl"
    source = Path(__file__).parent / "waits_in_musl.c"
    subprocess.run(["musl-gcc", "-O2", *options, source, "-o", program, "-pthread"], check=True)
    pid = start(program)

    def looked():
        shown = holdfast("top", "--batch", "--json", "-n", 3, "--delay", 0.5, *stacks, "--filter", pid)
        [process] = json.loads(shown.stdout.splitlines()[-1])["processes"]
        return process["now"]["other_sleeps_per_s"] and process["locks"] and process

    process = wait_until(looked, PATIENCE_S)
    locks = {row["name"].partition("+")[0]: row for row in process["locks"] if row["is_lock"]}
    assert set(locks) <= {"held_mutex", "condition_mutex"} and locks["held_mutex"]["now"]["waiters"] > 0.5, locks
    assert process["now"]["waiters"] < 1.5, process["now"]
    others = [row for row in process["locks"] if not row["is_lock"]]
    assert not others or stacks
    said = holdfast("doctor", "--pid", pid, "--watch", 1).stdout
    assert float(said.partition("threads that waited for locks ")[2].split(":")[0]) < 1.5, said
    assert options or "musl" in said and "start it again" not in said, said


# Shown able to fail: without the note (note_of_go in elf_file.cpp): a word at an address.
@as_root
def test_stripped_programs_of_gos_are_known(start, report, tmp_path):
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, MADE_BY_GO], check=True)
    text = section(report(start(stripped)), "conditions, semaphores, joins and other sleeps")
    assert text.count("Go's scheduler: its idle threads") == 1 and "held by" not in text, text


# Shown able to fail (Java's): without parks (wait_kind.cpp): "held by".
@as_root
@pytest.mark.parametrize("machine, title, name", [
    ("java", "locks", "Java's monitors: which one can't be seen"),
    ("go", "conditions, semaphores, joins and other sleeps", "Go's scheduler: its idle threads"),
])
def test_machines_whose_threads_sleep_at_words_of_their_own(start, report, machine, title, name):
    text = section(report(start(PROGRAM, machine)), title)
    assert text.count(name) == 1 and "held by" not in text and "woken by" in text, text


# Shown able to fail: with the map's own name for memory that no file is behind.
@as_root
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code that is made at run time is x86-64's")
@pytest.mark.parametrize("how, name", [("named-jit", "Cache.lookup_made_at_run_time"),
                                       ("jit", "[code made at run time]")])
def test_code_made_at_run_time_has_its_own_name_or_none(start, report, how, name):
    locks = section(report(start(PROGRAM, how)), "locks")
    assert f"lock_for_jit < {name}" in " ".join(locks.split()) or "lock_for_jit (known_waits_of_kinds.cpp" in locks
    assert name in locks.partition("waits in")[2].splitlines()[0], locks
    assert "hold_for_jit" in locks.partition("held by")[2].splitlines()[0], locks


# Shown able to fail: with the call's address in place of the function's begin.
@as_root
def test_stripped_programs_have_places_without_names(start, report, tmp_path):
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, SERVER], check=True)
    locks = section(report(start(stripped)), "locks")
    waits = locks.partition("waits in")[2].splitlines()[0]
    assert "100% stripped+0x" in waits and "lookup_in_cache" not in locks and ".cpp:" not in locks, locks
    begin = int(waits.split("stripped+")[1].split()[0], 16)
    table = subprocess.run(["nm", SERVER], capture_output=True, text=True, check=True).stdout
    [function] = [line.split() for line in table.splitlines() if "lookup_in_cache" in line]
    assert int(function[0], 16) == begin, (function, waits)
    assert "compactor (" in locks.partition("held by")[2].splitlines()[0], locks


# Shown able to fail: without the mark at a thread's way back (is_back of lock_waits.bpf.c).
@as_root
def test_preempted_holders_are_slices_of_the_trace(start, report, tmp_path):
    trace = tmp_path / "trace.json"
    pid = start(PROGRAM, "preempted")

    def preempted():
        text = report(pid, "--perfetto", trace)
        return "preempted " in text and text

    text = wait_until(preempted, PATIENCE_S)
    assert "left the CPU" in section(text, "locks"), text
    slices = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "preempted"]
    assert slices and all(event["dur"] > 0 and event["name"].startswith("preempted, holds ") for event in slices)
    assert all("busy_mutex" in event["name"] for event in slices), slices[0]


@as_root
def test_csv_has_what_json_has(holdfast, start):
    pid = start(SERVER)

    def table():
        result = holdfast("top", "--batch", "--csv", "-n", 2, "--delay", 0.5, "--stacks", "--filter", pid)
        assert result.returncode == 0, result.stderr
        heading, *lines = csv.reader(io.StringIO(result.stdout))
        rows = [dict(zip(heading, line, strict=True)) for line in lines]
        return [row for row in rows if row["what"] == "lock" and row["waits_in"] and row["held_in"]] and rows

    rows = wait_until(table, PATIENCE_S)
    assert {row["what"] for row in rows} == {"process", "lock"} and all(int(row["pid"]) == pid for row in rows)
    lock = next(row for row in rows if row["waits_in"])
    assert "lookup_in_cache" in lock["waits_in"] and float(lock["waiters"]) > 1 and lock["holders"] == ""
    assert "compact_the_cache" in lock["held_in"] and lock["held_by"].startswith("compactor ("), lock
    text = holdfast("top", "--batch", "-n", 8, "--delay", 0.5, "--stacks", "--filter", pid).stdout
    places = text.rpartition("PROGRAM")[2]
    assert "waits in: lookup_in_cache (known_hot_spots.cpp:" in places, text
    assert "by: compactor (" in places and "in compact_the_cache" in places, text


def test_csv_needs_batch_and_no_json(holdfast):
    assert_usage_error(holdfast("top", "--csv"), "add --batch")
    assert_usage_error(holdfast("top", "--batch", "--csv", "--json"), "either JSON or CSV")
