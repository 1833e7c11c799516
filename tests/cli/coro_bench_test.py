# SPDX-License-Identifier: MIT OR Apache-2.0
"""holdfast bench with locks of coroutines: every workload runs and checks its result; what is not here is a row.

Shown able to fail: a mutex that lets everybody in (try_lock true always) fails coro-mutex with "two tasks were inside";
a peer's program that is there but not executable is `failed`, not `absent`; with scene::count() empty coro-semaphore
has no operation in five seconds either; coro-leveldb with a barging lock that everybody gets crashes; Kotlin's mutex as
Debian's package has it fails (peers/kotlin/peer.cmake); a launcher that looks for no Java ends with 127.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAMS, assert_usage_error

OURS = {
    "coro-mutex": ["ces", "with", "dispatch", "barging", "inline", "unlocked"],
    "coro-queuing-delay": ["ces", "with", "dispatch", "barging", "inline"],
    "coro-rwlock": ["ces", "dispatch", "inline"],
    "coro-semaphore": ["ces", "dispatch", "inline"],
    "coro-condvar": ["ces", "dispatch", "inline"],
    "coro-notify": ["ces", "ces-not-awaited", "dispatch", "inline"],
    "coro-channel": ["ces", "dispatch", "inline"],
    "coro-locality": ["ces", "with", "dispatch", "inline"],
    "coro-leveldb": ["ces", "with", "dispatch", "barging", "inline", "threads"],
    "coro-leveldb-inside": ["threads"],
}
WITH_DELAYS = ["coro-queuing-delay", "coro-leveldb"]
PEERS = ["boost-fiber", "boost-fiber-ces", "go", "tokio", "java", "java-ces", "kotlin"]
QUICK = ["--seconds", "0.05", "--rounds", "1"]
LONGER = [QUICK, ["--seconds", "0.5", "--rounds", "1"], ["--seconds", "5", "--rounds", "1"]]
PATIENCE = 200  # seconds: for what hangs
FEW = ["--", "--tasks", "40", "--bystanders", "2", "--bystander-us", "1"]
ALWAYS = {"workload", "lock", "threads", "background", "round", "status", "arguments"}
MEASURED = {"ops_per_s", "cpu_s", "bystander_turns_per_s", "bystander_share"}
OF_SWITCHES = {"context_switches"}  # not of peers in other languages
if Path("/proc/self/sched").exists():  # the kernel counts them
    OF_SWITCHES.add("migrations")
DELAYS = {"delay_mean_ns", "delay_p50_ns", "delay_p99_ns", "delay_max_ns", "delay_counts"}
OF_WORKERS = {"burden_jain", "same_worker", "same_worker_calm"}
UNLESS_BUSY = {"line_ns"}  # the machine


def has_run(record):
    """False for a cell whose workers had no CPU while it was measured: a busy machine can keep them waiting as long."""
    if record["status"] != "ok":
        return True
    return record["ops_per_s"] > 0 and (record["workload"] not in WITH_DELAYS or DELAYS <= set(record))


def records_of(holdfast, path, workload, locks, arguments, threads="1,2"):
    """Of a short measurement, or of a longer one if that saw nothing of a cell."""
    for how_long in LONGER:
        result = holdfast("bench", workload, *how_long, "--locks", ",".join(locks), "--threads", threads, "--json",
                          path, *arguments, timeout=PATIENCE)
        assert result.returncode == 0, result.stderr
        records = json.loads(path.read_text())["records"]
        if all(map(has_run, records)):
            break
    return records, result


@pytest.mark.parametrize("workload", OURS)
def test_every_contender_of_ours_gets_a_record(holdfast, tmp_path, workload):
    records, result = records_of(holdfast, tmp_path / "cells.json", workload, OURS[workload], FEW)
    assert result.stderr == ""
    assert [(one["threads"], one["lock"]) for one in records] == [
        (count, lock) for count in (1, 2) for lock in OURS[workload]]
    for one in records:
        assert one["workload"] == workload and one["status"] == "ok"
        assert one["arguments"] == " ".join(FEW[1:])
        assert one["ops_per_s"] > 0
        always = ALWAYS | MEASURED | OF_SWITCHES
        assert always <= set(one) <= always | DELAYS | OF_WORKERS | UNLESS_BUSY
        assert (DELAYS <= set(one)) == (workload in WITH_DELAYS)
        if one["threads"] == 2 and one["lock"] != "threads":
            assert 0.5 <= one["burden_jain"] <= 1.000001
    assert ("Ratio to dispatch in the same round" in result.stdout) == ("dispatch" in OURS[workload])
    assert "Time from request to release" not in result.stdout


@pytest.mark.parametrize("workload", OURS)
@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_is_measured_or_says_why_not(holdfast, tmp_path, workload, peer):
    records, result = records_of(holdfast, tmp_path / "cells.json", workload, [peer], FEW, threads="2")
    [record] = records
    assert record["lock"] == peer and record["workload"] == workload
    if record["status"] == "ok":
        assert record["ops_per_s"] > 0 and MEASURED <= set(record)
        assert (DELAYS <= set(record)) == (workload in WITH_DELAYS)
    else:
        assert record["status"] == "absent"
        assert workload != "coro-mutex" or not (PROGRAMS / f"coro-peer-{peer}").exists()  # which all of them have
        assert f"holdfast: {workload}: {peer} is absent: " in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("lock", ["ces", "dispatch", "inline"])
def test_locks_inside_leveldb_where_its_source_was(holdfast, tmp_path, lock):
    records, result = records_of(holdfast, tmp_path / "cells.json", "coro-leveldb-inside", [lock], FEW, threads="2")
    [record] = records
    if (PROGRAMS / "coro-leveldb-rebuilt").exists():
        assert record["status"] == "ok" and record["ops_per_s"] > 0 and 0.5 <= record["burden_jain"] <= 1.000001
    else:
        assert record["status"] == "absent"
        assert result.stderr == (f"holdfast: coro-leveldb-inside: {lock} is absent: './dev bench' in Holdfast's source "
                                 "fetches LevelDB's and builds it\n")


def test_what_is_not_here_is_a_row_and_a_sentence(holdfast, tmp_path):
    records, result = records_of(holdfast, tmp_path / "cells.json", "coro-mutex", ["dispatch", "threads"], FEW)
    assert [one["status"] for one in records if one["lock"] == "threads"] == ["absent", "absent"]
    assert "threads" in result.stdout and "absent" in result.stdout
    assert result.stderr == ("holdfast: coro-mutex: threads is absent: there is no such form of what this workload "
                             "measures\n")


@pytest.mark.parametrize("peer, packages", [
    ("boost-fiber", "libboost-fiber-dev"), ("boost-fiber-ces", "libboost-fiber-dev"), ("go", "golang-go"),
    ("tokio", "rustc, cargo and librust-tokio-dev"),
    ("java", "default-jdk-headless, of version 21 or later"),
    ("java-ces", "default-jdk-headless, of version 21 or later"),
    ("kotlin", "kotlin, libkotlinx-coroutines-java, libkotlinx-atomicfu-java and libslf4j-java")])
def test_a_peer_that_was_not_built(tmp_path, peer, packages):
    shutil.copy(PROGRAMS / "coro-mutex", tmp_path)
    result = subprocess.run([tmp_path / "coro-mutex", "--lock", peer], capture_output=True, text=True, check=False,
                            timeout=PATIENCE)
    assert result.returncode == 69 and result.stdout == ""
    assert f"{peer} is absent: install {packages} (Debian)" in result.stderr
    (tmp_path / f"coro-peer-{peer}").write_text("")
    result = subprocess.run([tmp_path / "coro-mutex", "--lock", peer], capture_output=True, text=True, check=False,
                            timeout=PATIENCE)
    assert result.returncode == 1 and "can't execute" in result.stderr


def test_kotlin_without_java(tmp_path):
    launcher = Path(__file__).resolve().parents[2] / "bench/coro/peers/kotlin/launch"
    result = subprocess.run([launcher, "--workload", "coro-mutex"], capture_output=True, text=True, check=False,
                            timeout=PATIENCE, env={"PATH": str(tmp_path)})
    assert result.returncode == 69 and result.stdout == ""
    assert result.stderr == "coro-mutex: kotlin is absent: there is no java to run it with\n"


def test_the_workload_names_its_contenders(holdfast, tmp_path):
    path = tmp_path / "cells.json"
    result = holdfast("bench", "coro-condvar", "--seconds", "0.01", "--rounds", "1", "--json", path, "--", "--tasks",
                      "20", timeout=PATIENCE)
    assert result.returncode == 0, result.stderr
    cells = {(one["lock"], one["threads"]) for one in json.loads(path.read_text())["records"]}
    assert {lock for lock, _ in cells} == {"ces", "dispatch", "inline", "boost-fiber", "go"}
    assert {threads for _, threads in cells} == {1, 2, 4, 8, 16}


def test_resources_and_sections(holdfast, tmp_path):
    arguments = ["--", "--tasks", "100", "--resources", "4", "--section-us", "2"]
    records, _ = records_of(holdfast, tmp_path / "cells.json", "coro-mutex", ["ces", "with", "dispatch"], arguments,
                            threads="2")
    for one in records:
        assert one["status"] == "ok" and 0 <= one["same_worker"] <= 1
        assert "bystander_turns_per_s" not in one


@pytest.mark.parametrize("writers", [0, 6, 100])
def test_shares_of_writers(holdfast, tmp_path, writers):
    records, _ = records_of(holdfast, tmp_path / "cells.json", "coro-rwlock", ["ces", "dispatch"],
                            ["--", "--tasks", "40", "--writers", str(writers)], threads="2")
    assert [one["status"] for one in records] == ["ok", "ok"]


def test_mistakes(holdfast):
    assert_usage_error(holdfast("bench", "coro-mutex", "--locks", "mcs"), "no coroutine lock 'mcs'", "ces, with")
    assert_usage_error(holdfast("bench", "shared-memory", "--locks", "ces"), "no lock 'ces'")
    result = holdfast("bench", "coro-mutex", *QUICK, "--locks", "ces", "--threads", "1", "--", "--colour", "red")
    assert result.returncode == 1 and "--colour" in result.stderr


def test_a_workload_tells_its_options():
    result = subprocess.run([PROGRAMS / "coro-mutex", "--help"], capture_output=True, text=True, check=False,
                            timeout=PATIENCE)
    assert result.returncode == 0 and "--bystander-us" in result.stdout
