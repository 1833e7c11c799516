# SPDX-License-Identifier: MIT OR Apache-2.0
"""holdfast doctor: says what there is, what follows from it, and what to do."""

import json
import os
import shutil
import subprocess

import pytest

from conftest import COMMAND, NOBODY, assert_usage_error, wait_until, without_rights

PYTHON = "/usr/bin/python3"

CAPABILITIES = {"btf", "bpf", "privileges", "rseq", "slice_extension", "sched_ext", "futex_watch"}


def test_json_and_text_agree(holdfast):
    found = json.loads(holdfast("doctor", "--json").stdout)
    text = holdfast("doctor")
    assert set(found["capabilities"]) == CAPABILITIES
    assert f"mode: {found['mode']}" in text.stdout
    assert text.returncode == (1 if found["mode"] == "blocking" else 0)
    assert f"service: {found['service']['state']}" in text.stdout
    for capability in found["capabilities"].values():
        assert capability["present"] or capability["remedy"], "what is missing comes with what to do"


# Shown able to fail: a layout that is never found to fit.
def test_every_kind_of_object_can_be_holdfasts(holdfast):
    objects = json.loads(holdfast("doctor", "--json").stdout)["objects"]
    assert objects == {"fit": dict.fromkeys(["mutex", "cond", "rwlock", "spin", "barrier"], True), "detail": ""}
    assert "yes  room in the C library's objects" in holdfast("doctor").stdout


# Shown able to fail: without a look at standard output in main().
@pytest.mark.parametrize("verb", [["doctor"], ["doctor", "--json"], ["doctor", "--", PYTHON], ["bench", "--list"],
                                  ["compare", "--rounds", "1", "--locks", "glibc", "--", "true"]])
def test_output_that_can_not_be_written_is_a_failure(verb):
    with open("/dev/full", "w", encoding="ascii") as full:
        result = subprocess.run([COMMAND, *verb], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                                timeout=60)
    assert result.returncode == 125
    assert "holdfast: not all that was printed could be written" in result.stderr and result.stderr.count("\n") == 1


def test_status_of_run_is_the_programs_where_nothing_can_be_written():
    with open("/dev/full", "w", encoding="ascii") as full:
        result = subprocess.run([COMMAND, "run", "--", "sh", "-c", "exit 7"], stdout=full, check=False, timeout=60)
    assert result.returncode == 7


@pytest.mark.skipif(os.getuid() != 0, reason="the monitor needs root")
def test_root_has_the_monitor(holdfast):
    assert json.loads(holdfast("doctor", "--json").stdout)["mode"] == "monitor"


def refusing(parts):
    """A kernel that refuses these parts of the monitor."""
    return {**os.environ, "HOLDFAST_REFUSED_PARTS": parts}


@pytest.mark.skipif(os.getuid() != 0, reason="the monitor needs root")
def test_parts_that_the_kernel_refuses_are_named_with_the_reason(holdfast):
    result = holdfast("doctor", env=refusing("storms,census"))
    assert result.returncode == 0 and "mode: monitor" in result.stdout
    for title in ["monitor: a walk over all threads", "monitor: a watch for storms of switches"]:
        assert title in result.stdout
    assert "its program walk" in result.stdout and "its program at_switch" in result.stdout
    told = json.loads(holdfast("doctor", "--json", env=refusing("storms,census")).stdout)
    assert [each["part"] for each in told["left_out"]] == ["census", "storms"]
    assert all(each["why"] for each in told["left_out"])
    run = holdfast("run", "--stats", "--", "true", env=refusing("heart"))
    assert "monitor: on, without heart: see 'holdfast doctor'" in run.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="the monitor needs root")
def test_all_parts_are_there(holdfast):
    assert json.loads(holdfast("doctor", "--json").stdout)["left_out"] == []


@pytest.mark.skipif(os.getuid() != 0, reason="who has no rights is refused for that")
def test_a_refusal_is_told_with_program_kernel_and_the_verifiers_line(holdfast):
    result = holdfast("doctor", env=refusing("core"))
    assert result.returncode == 1 and "mode: blocking" in result.stdout
    said = result.stdout.split("mode: blocking", 1)[1]
    assert os.uname().release in said and "its program at_switch" in said and "stack" in said and "report this" in said
    assert "root" not in said and "CAP_BPF" not in said and "for better" not in said
    assert "BEGIN PROG LOAD LOG" not in result.stdout
    assert "BEGIN PROG LOAD LOG" in holdfast("doctor", "--verbose", env=refusing("core")).stdout


# Shown able to fail: 'check the number, or run as root' said to all.
@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give rights up")
def test_only_those_who_are_not_root_are_told_to_be(holdfast, installed_for_all):
    def as_nobody(*arguments):
        return subprocess.run(without_rights(installed_for_all, *arguments), capture_output=True, text=True,
                              check=False).stderr

    nobodys_number = str(2**22 + 1)  # above all that the kernel gives
    for said in (holdfast("doctor", "--pid", nobodys_number).stderr, as_nobody("doctor", "--pid", nobodys_number)):
        assert "check the number" in said and "root" not in said
    assert "run as root" in as_nobody("doctor", "--pid", str(os.getpid()))
    unmade = ("monitor", "--pins", "", "--socket", "/proc/holdfast-has-no-place-here")
    assert "run as root, or choose another --socket" in as_nobody(*unmade)
    said = holdfast(*unmade).stderr
    assert "choose another --socket" in said and "root" not in said


# Root there has all capabilities, and none of them counts for BPF.
@pytest.mark.skipif(os.getuid() != 0, reason="needs a user namespace of its own")
def test_rights_in_a_user_namespace_do_not_count():
    command = ["unshare", "--user", "--map-root-user", COMMAND, "doctor"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "unshare failed" in result.stderr:
        pytest.skip(result.stderr.strip())
    said = result.stdout.split("mode: blocking", 1)[1]
    assert "user namespace" in said and "run as root" not in said and "sudo" not in said


# As in a container. Shown able to fail: advice for users.
@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_root_without_the_rights_is_not_told_to_be_root():
    command = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin", COMMAND, "doctor"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "uid 0; CAP_BPF no, CAP_PERFMON no" in result.stdout and "mode: blocking" in result.stdout, result
    assert "let its container or service have both" in result.stdout
    assert not any(advice in result.stdout for advice in ("as root", "sudo", "setcap"))


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give rights up")
def test_without_rights_it_says_so_and_what_to_do(installed_for_all):
    result = subprocess.run(without_rights(installed_for_all, "doctor"), capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "mode: blocking" in result.stdout
    assert "sudo" in result.stdout and "setcap" in result.stdout
    assert result.stderr == ""


# --- of a program

@pytest.fixture
def examined(holdfast):
    def examine(*arguments):
        result = holdfast("doctor", "--json", *arguments)
        told = json.loads(result.stdout)
        assert result.returncode == (0 if told["verdict"] in ["helped", "helped now"] else 1)
        text = holdfast("doctor", *arguments).stdout
        assert told["verdict"] in text and told["why"] in text
        return told

    return examine


@pytest.fixture
def compiled(tmp_path):
    def compile_with(*options):
        source = tmp_path / "program.c"
        source.write_text("#include <pthread.h>\nint main(void) { static pthread_mutex_t mutex;"
                          "pthread_mutexattr_t robust; pthread_mutexattr_setrobust(&robust, 1);"
                          "__builtin_ia32_pause(); return pthread_mutex_lock(&mutex); }\n")
        subprocess.run(["gcc", *options, source, "-o", tmp_path / "program"], check=True)
        return tmp_path / "program"

    return compile_with


# Shown able to fail: the name printed as it is; without the last line.
def test_a_program_is_named_as_text_and_what_to_do_next(holdfast, compiled, tmp_path):
    program = tmp_path / "with\x1b[31mcolour"
    program.write_bytes(compiled().read_bytes())
    program.chmod(0o755)
    said = holdfast("doctor", "--", program).stdout
    assert "\x1b" not in said and said.rstrip().endswith(r"with\x1b[31mcolour ARGUMENT...")


def test_a_program_with_locks_is_helped(examined, compiled):
    told = examined("--", compiled(), "--its-option")
    assert told["verdict"] == "helped" and "pthread_mutex_lock" in told["replaced"]["mutex"]
    assert any("robust" in note for note in told["notes"]) and any("PAUSE" in note for note in told["notes"])


def test_a_program_without_locks_is_not(examined):
    assert examined("--", "true")["verdict"] == "no locks"


def test_a_static_program_is_not(examined, compiled):
    told = examined("--", compiled("-static"))
    assert told["verdict"] == "not preloaded" and "libholdfast.a" in told["why"]


def test_a_program_under_thread_sanitizer_is_passed_on(examined, compiled):
    assert examined("--", compiled("-fsanitize=thread"))["verdict"] == "passed on"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a program of another user")
def test_a_setuid_program_is_not(examined, compiled):
    program = compiled()
    shutil.chown(program, NOBODY, NOBODY)
    program.chmod(0o4755)
    told = examined("--", program)
    assert told["verdict"] == "not preloaded" and "set-user-ID" in told["why"]


def test_of_a_script_the_interpreter_counts(examined, tmp_path):
    script = tmp_path / "script"
    for first_line in [f"#!{PYTHON} -u", f"#!/usr/bin/env -S {PYTHON} -u"]:
        script.write_text(f"{first_line}\nprint()\n")
        script.chmod(0o755)
        outer = tmp_path / "outer"
        outer.write_text(f"#!{script}\n")
        outer.chmod(0o755)
        for program in [script, outer]:
            told = examined("--", program)
            assert told["script"] == str(program) and "python" in told["program"]


def test_a_process_is_told_from_what_it_has_loaded(examined, start_holdfast):
    with subprocess.Popen([PYTHON, "-c", "input()"], stdin=subprocess.PIPE, text=True) as plain:
        wait_until(lambda: "libm" in open(f"/proc/{plain.pid}/maps", encoding="ascii").read())
        assert examined("--pid", plain.pid)["verdict"] == "helped"
        plain.communicate("\n")
    # With --stats the monitor is there before the program, so that the verdict does not change while we look.
    run = start_holdfast("run", "--stats", "--", PYTHON, "-c",
                         "import os, time; print(os.getpid(), flush=True); time.sleep(20)")
    assert examined("--pid", int(run.stdout.readline()))["verdict"] in ["helped now", "blocks now"]  # without a monitor
    run.terminate()
    run.wait(timeout=120)


def test_a_process_that_never_waits_is_told_from_one_whose_monitor_is_gone(examined, start_holdfast):
    """Shown able to fail: with a server that says "no monitor" while it expects one."""
    run = start_holdfast("run", "--", PYTHON, "-c",
                         "import os, time; print(os.getpid(), flush=True); time.sleep(20)")
    told = examined("--pid", int(run.stdout.readline()))
    assert told["verdict"] == "helped now" and "hardly wait" in told["why"], told
    run.terminate()
    run.wait(timeout=120)


# Shown able to fail: without the note on dlmopen; without a look at how many C libraries there are.
def test_libraries_with_bindings_of_their_own_are_noted(examined, tmp_path):
    source = tmp_path / "loads.c"
    source.write_text("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <pthread.h>\n#include <stdio.h>\n"
                      "int main(void) { static pthread_rwlock_t lock; pthread_rwlock_rdlock(&lock);"
                      "puts(dlmopen(LM_ID_NEWLM, \"libm.so.6\", RTLD_NOW) ? \"loaded\" : dlerror()); fflush(stdout);"
                      "return getchar(); }\n")
    program = tmp_path / "loads"
    subprocess.run(["gcc", source, "-o", program], check=True)
    told = examined("--", program)
    assert any("dlmopen" in note and "rwlock:glibc" in note for note in told["notes"])
    assert any("RTLD_DEEPBIND" in note for note in examined("--", PYTHON)["notes"])
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as loads:
        assert loads.stdout.readline() == "loaded\n"
        assert any(note.startswith("it has 2 C libraries") for note in examined("--pid", loads.pid)["notes"])
        loads.communicate("\n")


def test_of_what_is_not_there_it_says_so(holdfast, tmp_path):
    assert holdfast("doctor", "--", "no-such-program").returncode == 127
    assert holdfast("doctor", "--", "/tmp").returncode == 126
    text = tmp_path / "text"
    text.write_text("no program")
    text.chmod(0o755)
    result = holdfast("doctor", "--", text)
    assert result.returncode == 126 and "no ELF program or script" in result.stderr
    result = holdfast("doctor", "--pid", 2 ** 22 + 1)
    assert result.returncode == 125 and result.stderr.count("\n") == 1
    assert_usage_error(holdfast("doctor", "--pid", 1, "--", "true"))
    assert_usage_error(holdfast("doctor", "--pid", -1), "--pid", "'-1' is not a whole number from 1")


# --- watching a process

def watched(holdfast, pid, *more):
    result = holdfast("doctor", "--pid", pid, "--watch", "2", "--json", *more)
    return result.returncode, json.loads(result.stdout)


@pytest.mark.skipif(os.getuid() != 0, reason="only root sees waits of plain programs")
def test_a_program_with_long_holds_is_told_so(holdfast):
    with subprocess.Popen([os.environ["KNOWN_HOT_SPOTS"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        server.stdout.readline()
        for _ in range(5):  # a machine that is busy may stop the command between the clock and the counts
            status, found = watched(holdfast, server.pid)
            if found["verdict"] == "long holds" and 2.5 < found["waiters"] <= 4.2:
                break
        text = holdfast("doctor", "--pid", server.pid, "--watch", "0.5").stdout
        server.stdin.close()
    assert status == 1 and found["verdict"] == "long holds", found
    assert 2.5 < found["waiters"] <= 4.2 and found["threads"] == 6 and found["mean_wait_ns"] > 5e6, found
    assert "verdict: long holds" in text and f"record --pid {server.pid}" in text


@pytest.mark.skipif(os.getuid() != 0, reason="only root sees waits of plain programs")
def test_a_program_that_does_not_wait_is_told_so(holdfast):
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        status, found = watched(holdfast, sleeper.pid)
        sleeper.kill()
    assert status == 1 and found["verdict"] == "hardly waits" and found["waiters"] == 0, found


@pytest.mark.skipif(os.getuid() != 0, reason="gives rights up")
def test_without_rights_nothing_is_guessed(installed_for_all):
    with subprocess.Popen(without_rights("sleep", "60")) as sleeper:
        result = subprocess.run(without_rights(installed_for_all, "doctor", "--pid", sleeper.pid, "--watch", "0.2",
                                               "--json"), capture_output=True, text=True, check=False, timeout=60)
        sleeper.kill()
    found = json.loads(result.stdout)
    assert result.returncode == 1 and found["verdict"] == "not known" and found["waiters"] is None, found
    assert found["why_not_seen"]


def test_watching_needs_a_process_that_stays(holdfast):
    assert_usage_error(holdfast("doctor", "--watch", "1"), "which process is to be watched?")
    with subprocess.Popen(["sleep", "0.3"]) as sleeper:
        result = holdfast("doctor", "--pid", sleeper.pid, "--watch", "30")
    assert result.returncode == 125 and "has ended" in result.stderr
