# SPDX-License-Identifier: MIT OR Apache-2.0
"""holdfast run: nobody can tell that it stands between a program and its caller."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import (COMMAND, INTERPOSER, NOBODY, PROGRAMS, alive, assert_usage_error, needs_two_cpus, running,
                      wait_until, without_rights)


def stats_of(result):
    return {name.strip(): int(value) for name, value in re.findall(r"^  (\D+?)\s+(\d+)$", result.stderr, re.MULTILINE)}


# --- ends and prints as the program does

@pytest.mark.parametrize("status", [0, 1, 2, 42, 125, 127, 255])
def test_exit_status_is_the_programs(holdfast, status):
    assert holdfast("run", "--", "sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT])
def test_ends_by_the_signal_that_killed_the_program(holdfast, number):
    assert holdfast("run", "--", "sh", "-c", f"kill -{int(number)} $$").returncode == -number
    told = subprocess.run(["sh", "-c", f"{COMMAND} run -- sh -c 'kill -{int(number)} $$'; echo $?"],
                          capture_output=True, text=True, timeout=60, check=False).stdout
    assert told == f"{128 + number}\n"


def test_a_status_like_a_signals_is_a_status(holdfast):
    assert holdfast("run", "--", "sh", "-c", "exit 130").returncode == 130


def test_output_is_the_programs_alone(holdfast):
    result = holdfast("run", "--", "sh", "-c", "echo out; echo err >&2")
    assert (result.stdout, result.stderr) == ("out\n", "err\n")


def test_arguments_arrive_as_they_are(holdfast):
    words = ["-x", "--lock", "--", "", "a b", "*", "--help"]
    assert holdfast("run", "--", "printf", "%s|", *words).stdout == "".join(word + "|" for word in words)


@pytest.mark.parametrize("own", [[], ["--stats"], ["--lock", "blocking"], ["--lock=blocking", "--as-root"]])
@pytest.mark.parametrize("given", [["-n"], ["--stats", "--lock"], ["--", "--help"], ["-x", "run", "doctor"]])
def test_what_stands_behind_the_programs_name_is_the_programs(holdfast, own, given):
    result = holdfast("run", *own, "printf", "%s.", *given)
    # printf takes a first -- for itself
    assert result.returncode == 0 and result.stdout == "".join(f"{word}." for word in given)


def test_standard_input_is_the_programs():
    result = subprocess.run([COMMAND, "run", "--", "cat"], input="through", capture_output=True, text=True, check=True)
    assert result.stdout == "through"


def test_environment_gains_only_our_variables():
    def variables(*command):
        text = subprocess.run([*command, "env"], capture_output=True, text=True, check=True).stdout
        return set(text.splitlines())

    extra = variables(COMMAND, "run", "--") - variables()
    assert {line.split("=")[0] for line in extra if not line.startswith("_=")} == \
        {"LD_PRELOAD", "HOLDFAST_LOCK", "HOLDFAST_SOCKET", "ASAN_OPTIONS"}


def test_what_the_user_preloads_stays_preloaded():
    environment = {**os.environ, "LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libm.so.6"}
    maps = subprocess.run([COMMAND, "run", "--", "cat", "/proc/self/maps"], env=environment, capture_output=True,
                          text=True, check=True).stdout
    assert "libholdfast-preload.so" in maps and "libm.so.6" in maps


def test_no_descriptor_is_left_open(holdfast):
    assert holdfast("run", "--", "ls", "/proc/self/fd").stdout.split() == ["0", "1", "2", "3"]


def test_a_program_that_never_sleeps_for_a_lock_loads_no_monitor(holdfast):
    """Shown able to fail: loaded when the first program asks for it."""
    held = holdfast("run", "--", "sh", "-c", "sleep 0.5; ls -l /proc/$PPID/fd").stdout
    assert "socket:" in held and "bpf" not in held, held


def listens(process):
    return "bpf-map" in Path(f"/proc/{process}/maps").read_text()


@contextmanager
def contended_program(start_holdfast, kind="mutex"):
    """One whose threads sleep for an object all the time, under `run`; it would outlive it."""
    start_holdfast("run", "--", PROGRAMS / "pthread-objects", "--object", kind, "--threads", "8", "--inside", "5000",
                   "--seconds", "300")
    try:
        wait_until(lambda: running("pthread-objects"))
        yield running("pthread-objects")[0]
    finally:
        for process in running("pthread-objects"):
            os.kill(process, signal.SIGKILL)


@needs_two_cpus
def test_a_program_that_began_before_its_monitor_meets_it_later(start_holdfast):
    """Shown able to fail: without owe_registration for HF_REPLY_LATER."""
    with contended_program(start_holdfast) as process:
        wait_until(lambda: listens(process))


@needs_two_cpus
def test_a_program_on_one_cpu_loads_no_monitor_until_it_has_another(start_holdfast):
    """Shown able to fail: without is_worth_a_monitor()."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        with contended_program(start_holdfast) as process:
            os.sched_setaffinity(0, allowed)
            time.sleep(3)
            assert not listens(process)
            for thread in os.listdir(f"/proc/{process}/task"):
                os.sched_setaffinity(int(thread), allowed)
            wait_until(lambda: listens(process))
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) >= 8, reason="eight threads may have a CPU each, and spin")
def test_barriers_of_more_threads_than_cpus_load_no_monitor(start_holdfast):
    """Shown able to fail: with hf_hint_look_again() before each sleep."""
    with contended_program(start_holdfast, "barrier") as process:
        time.sleep(3)
        assert not listens(process)


@pytest.fixture
def busy_cpus():
    """What the test starts has two CPUs, with others that want them: what runs in spare time gets next to nothing."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(allowed)[:2]))
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(32)]
    yield
    os.sched_setaffinity(0, allowed)
    for process in busy:
        process.kill()
        process.wait()


@needs_two_cpus
@pytest.mark.usefixtures("busy_cpus")
def test_a_monitor_is_loaded_where_no_cpu_is_idle(start_holdfast):
    """Shown able to fail: without hurry() in spare_time_work::hurry_after."""
    test_a_program_that_began_before_its_monitor_meets_it_later(start_holdfast)


@pytest.mark.usefixtures("busy_cpus")
def test_a_program_ends_while_its_monitor_is_being_loaded(holdfast):
    """Each run takes seconds in place of tenths where nobody hurries what loads."""
    for _ in range(5):
        result = holdfast("run", "--", PROGRAMS / "pthread-objects", "--object", "mutex", "--threads", "8", "--inside",
                          "5000", "--seconds", "0.1")
        assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root could load one")
def test_a_monitor_that_is_refused_late_is_said(on_terminal, monkeypatch):
    """Shown able to fail: without begin() of no monitor, which leaves the program asking for it."""
    monkeypatch.setenv("HOLDFAST_REFUSED_PARTS", "core")
    for seconds in [1, 5, 25]:  # a machine may be slow to load it
        shown, status = on_terminal("run", "--", PROGRAMS / "pthread-objects", "--object", "mutex", "--threads", "8",
                                    "--inside", "5000", "--seconds", str(seconds))
        assert status == 0
        if "without a monitor" in shown:
            return
    assert False, shown


def test_glibc_means_as_it_is(holdfast):
    assert "holdfast" not in holdfast("run", "--lock", "glibc", "--", "cat", "/proc/self/maps").stdout


# ld.so would take such a path for two, ignore both, and the program ran without our locks.
@pytest.mark.parametrize("name", ["a b", "a:b"])
@pytest.mark.parametrize("verb", [["run"], ["compare", "--rounds", "1", "--locks", "glibc,blocking"]])
def test_an_install_path_that_cannot_be_preloaded_is_refused_before_the_program_runs(tmp_path, verb, name):
    for part in [COMMAND, INTERPOSER]:
        place = tmp_path / name / part.parent.name
        place.mkdir(parents=True)
        shutil.copy(part, place)
    command = tmp_path / name / "bin" / COMMAND.name
    result = subprocess.run([command, *verb, "--", "touch", tmp_path / "ran"], capture_output=True, text=True,
                            timeout=60, check=False)
    assert (result.returncode, result.stdout) == (125, "")
    assert result.stderr.startswith("holdfast: ") and result.stderr.count("\n") == 1
    for part in [str(tmp_path / name / "lib" / INTERPOSER.name), "space or a colon", "install"]:
        assert part in result.stderr
    assert not (tmp_path / "ran").exists()
    as_it_is = subprocess.run([command, "run", "--lock", "glibc", "--", "echo", "out"], capture_output=True, text=True,
                              timeout=60, check=False)
    assert (as_it_is.returncode, as_it_is.stdout, as_it_is.stderr) == (0, "out\n", "")
    doctor = subprocess.run([command, "doctor"], capture_output=True, text=True, timeout=60, check=False)
    assert doctor.returncode == 1
    assert result.stderr.removeprefix("holdfast: ").strip() in doctor.stdout


# --- signals and terminals

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGRTMIN + 3])
def test_signals_are_passed_on(start_holdfast, tmp_path, number):
    ready = tmp_path / "ready"
    process = start_holdfast("run", "--", "sh", "-c", f"trap 'exit 7' {int(number)}; touch {ready}; "
                                                      "while :; do sleep 0.05; done")
    wait_until(ready.exists)
    process.send_signal(number)
    assert process.wait(timeout=120) == 7


def test_ctrl_c_reaches_the_program_once(on_terminal):
    output, status = on_terminal("run", "--", "sh", "-c",
                                 "n=0; trap 'n=$((n+1))' INT; echo ready; "
                                 "while [ $n = 0 ]; do sleep 0.25; done; sleep 1; echo got $n",
                                 interrupt_when=lambda shown: "ready" in shown)
    assert "got 1" in output
    assert status == 0


# A shell asks whether its command died of the signal.
def test_ctrl_c_ends_a_shells_loop(on_terminal):
    loop = f"for i in 1 2 3; do {COMMAND} run -- sh -c 'echo ready; exec sleep 60'; done; echo went on"
    output, status = on_terminal("-c", loop, command="/bin/bash", interrupt_when=lambda shown: "ready" in shown)
    assert output.count("ready") == 1 and "went on" not in output
    assert status == -signal.SIGINT


def test_program_has_the_terminal(on_terminal):
    output, status = on_terminal("run", "--", "sh", "-c", "test -t 0 && test -t 1 && echo terminal")
    assert "terminal" in output and status == 0


def test_a_program_that_is_stopped_and_continued_by_its_pid_ends_as_ever(start_holdfast, tmp_path):
    note = tmp_path / "pid"
    process = start_holdfast("run", "--", "sh", "-c", f"echo $$ > {note}; while :; do sleep 0.05; done")
    child = int(wait_until(lambda: note.exists() and note.read_text().strip()))

    def state(pid):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    os.kill(child, signal.SIGSTOP)
    wait_until(lambda: state(child) == "T")
    os.kill(child, signal.SIGCONT)
    wait_until(lambda: state(child) != "T")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == -signal.SIGTERM


# In a process group of its own, as a shell would have it: the kernel stops nobody in an orphaned one this way.
def test_holdfast_goes_on_when_only_its_program_is_continued(tmp_path):
    note, go_on = tmp_path / "pid", tmp_path / "go"
    process = subprocess.Popen([COMMAND, "run", "--", "sh", "-c", f"echo $$ > {note}; while ! test -e {go_on}; "
                                "do sleep 0.05; done; exit 5"], process_group=0)
    try:
        child = int(wait_until(lambda: note.exists() and note.read_text().strip()))

        def state(pid):
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

        def children():
            return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()

        for _ in range(3):
            os.kill(child, signal.SIGTSTP)
            wait_until(lambda: state(child) == "T" and state(process.pid) == "T")
            os.kill(child, signal.SIGCONT)
            wait_until(lambda: state(process.pid) != "T" and children() == [str(child)])
        os.kill(child, signal.SIGTSTP)
        wait_until(lambda: state(process.pid) == "T")
        go_on.touch()
        os.kill(child, signal.SIGCONT)
        assert process.wait(timeout=120) == 5
    finally:
        go_on.touch()  # the program outlives holdfast
        process.kill()
        process.wait()


def test_ctrl_z_stops_both_and_fg_continues_both():
    script = (f"set -m; {COMMAND} run -- sh -c 'sleep 0.3; kill -TSTP $$; echo continued; exit 5'; "
              "echo stopped $?; fg >/dev/null; echo ended $?")
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=200, check=False,
                            start_new_session=False)
    assert result.stdout.split("\n")[:3] == [f"stopped {128 + signal.SIGSTOP}", "continued", "ended 5"]


def test_exit_status_arrives_where_children_are_ignored():
    result = subprocess.run(["sh", "-c", f"trap '' CHLD; exec {COMMAND} run -- sh -c 'exit 9'"], check=False)
    assert result.returncode == 9


# As under a shell that starts it in the background.
def test_signals_that_the_caller_ignores_reach_a_program_that_handles_them(start_holdfast, tmp_path):
    note = tmp_path / "ready"
    program = (f"import signal, pathlib, sys\nsignal.signal(signal.SIGQUIT, lambda *_: sys.exit(7))\n"
               f"pathlib.Path('{note}').touch()\nsignal.pause()")
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    process = start_holdfast("run", "--", "/usr/bin/python3", "-c", program)
    signal.signal(signal.SIGQUIT, before)
    wait_until(note.exists)
    process.send_signal(signal.SIGQUIT)
    assert process.wait(timeout=120) == 7


def test_glibc_inside_another_run_means_glibc(holdfast):
    result = holdfast("run", "--", COMMAND, "run", "--lock", "glibc", "--", "cat", "/proc/self/maps")
    assert result.returncode == 0 and "libholdfast-preload.so" not in result.stdout


def test_the_program_survives_the_death_of_holdfast(start_holdfast, tmp_path):
    note, go_on = tmp_path / "pid", tmp_path / "go"
    process = start_holdfast("run", "--", "sh", "-c", f"echo $$ > {note}; while ! test -e {go_on}; do sleep 0.05; "
                                                      f"done; echo done >> {note}")
    child = int(wait_until(lambda: note.exists() and note.read_text().strip()))
    process.kill()
    process.wait()
    assert alive(child)
    go_on.touch()
    wait_until(lambda: "done" in note.read_text())


# --- statistics

def test_stats_count_what_the_program_did(holdfast):
    result = holdfast("run", "--stats", "--", "/usr/bin/python3", "-c",
                      "import threading as t\nx=t.Lock()\ndef f():\n for _ in range(1000):\n  with x: pass\n"
                      "a=[t.Thread(target=f) for _ in range(4)]\n[i.start() for i in a]\n[i.join() for i in a]\n"
                      "print('fine')")
    assert result.returncode == 0 and result.stdout == "fine\n"
    assert stats_of(result)["acquisitions"] > 100, result.stderr
    assert "lock default" in result.stderr


def test_stats_come_also_of_a_program_that_is_killed(holdfast):
    result = holdfast("run", "--stats", "--", "/usr/bin/python3", "-c",
                      "import threading as t, os, time\n"
                      "a=[t.Thread(target=time.sleep, args=(0.1,)) for _ in range(9)]\n"
                      "[i.start() for i in a]\n[i.join() for i in a]\nos.kill(os.getpid(), 9)")
    assert result.returncode == -signal.SIGKILL
    assert stats_of(result)["acquisitions"] > 10


def test_stats_include_forked_children(holdfast):
    program = ("import threading as t, os\n"
               "def work():\n a=[t.Thread(target=lambda: None) for _ in range(200)]\n"
               " [i.start() for i in a]\n [i.join() for i in a]\n"
               "pid=os.fork()\nif pid==0:\n work()\n os._exit(0)\nos.waitpid(pid,0)\n")
    idle = program.replace(" work()\n os._exit", " os._exit")
    alone = stats_of(holdfast("run", "--stats", "--", "/usr/bin/python3", "-c", idle))
    both = stats_of(holdfast("run", "--stats", "--", "/usr/bin/python3", "-c", program))
    assert both["acquisitions"] > alone["acquisitions"] + 200


# Shown able to fail (ENOMEM) with all levels of the statistics mapped at once.
def test_a_user_may_keep_all_memory_in_ram(holdfast):
    result = holdfast("run", "--stats", "--", os.environ["LOCKS_ITS_MEMORY"])
    assert (result.returncode, result.stdout) == (0, "all in RAM\n"), result.stderr
    assert stats_of(result)["acquisitions"] >= 2 * 2000, result.stderr
    assert "  processes that were refused memory for statistics" in result.stderr


# --- rules for single locks: shown able to fail without count_match in mark (all), or without is_counted (a variable)

def matches(holdfast, rules, *actions):
    result = holdfast("run", "--stats", "--conf", ",".join(rules), "--", os.environ["LOCKS_FOR_RULES"], *actions)
    assert result.returncode == 0, result
    return re.findall(r"^  rule (\S+) +matched (.*)$", result.stderr, re.MULTILINE)


def test_stats_tell_what_rules_matched(holdfast):
    assert matches(holdfast, ["mutex@a_variable:u-scl(slice=1ms)", "mutex@a_struct+16:mcs", "mutex@make_mutex:glibc",
                              "rwlock@a_rwlock:rw-scl", "mutex@a_varaible:u-scl", "rwlock@a_variable:glibc"],
                   "make-3", "read") == [
        ("mutex@a_variable:uscl", "1 mutex"), ("mutex@a_struct+16:mcs", "1 mutex"),
        ("mutex@make_mutex:glibc", "3 mutexes"), ("rwlock@a_rwlock:rwscl", "1 rwlock"),
        ("mutex@a_varaible:uscl", "nothing: no mutex at that place was initialised or used"),
        ("rwlock@a_variable:glibc", "nothing: no rwlock at that place was initialised or used")]


def test_a_variable_is_one_lock_however_often_it_is_made(holdfast):
    assert matches(holdfast, ["mutex@made_again:mcs"], "make-again") == [("mutex@made_again:mcs", "1 mutex")]


def test_a_rule_matches_no_lock_that_stays_glibcs(holdfast):
    [(_, told)] = matches(holdfast, ["mutex@make_mutex:mcs"], "make-shared")
    assert told.startswith("nothing")
    [(_, told)] = matches(holdfast, ["rwlock@a_rwlock:rw-scl"], "make-3")
    assert told.startswith("nothing"), "nobody has used it"


def test_matches_of_all_processes_are_added_up(holdfast):
    rules = ["mutex@a_variable:mcs", "mutex@make_mutex:u-scl"]

    def told(*actions):
        return [matched for _, matched in matches(holdfast, rules, *actions)]

    assert told("make-3", "fork", "make-3") == ["1 mutex", "6 mutexes"], "a child inherits what its parent has"
    assert told("make-3", "exec", "make-3") == ["2 mutexes", "6 mutexes"], "another program has its own"
    assert told("make-3", "fork", "exec", "make-3") == ["2 mutexes", "6 mutexes"]


def test_rules_may_come_by_the_environment(holdfast):
    result = holdfast("run", "--stats", "--", "true", env={**os.environ, "HOLDFAST_CONF": "mutex@nowhere:mcs"})
    assert "rule mutex@nowhere:mcs" in result.stderr and "matched nothing" in result.stderr
    assert "rule" not in holdfast("run", "--stats", "--conf", "mutex:mcs", "--", "true").stderr


# --- rights

@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give rights up")
def test_without_rights_the_program_runs_all_the_same(installed_for_all):
    result = subprocess.run(without_rights(installed_for_all, "run", "--stats", "--", "id", "-u"), capture_output=True,
                            text=True, check=False)
    assert (result.returncode, result.stdout) == (0, f"{NOBODY}\n")
    assert "monitor: none, waiters blocked" in result.stderr and "CAP_BPF" in result.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to be called through sudo")
def test_under_sudo_the_program_runs_as_who_called_it(installed_for_all):
    environment = {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"}
    result = subprocess.run([installed_for_all, "run", "--stats", "--", "sh", "-c", "id -u; id -g; id -G; echo $USER"],
                            env=environment, capture_output=True, text=True, check=False)
    assert result.stdout == f"{NOBODY}\n{NOBODY}\n{NOBODY}\nnobody\n"
    assert "monitor: on" in result.stderr, "and is informed by the monitor that root loaded"
    result = subprocess.run([installed_for_all, "run", "--as-root", "--", "id", "-u"], env=environment,
                            capture_output=True, text=True, check=False)
    assert result.stdout == "0\n"


def test_a_bad_sudo_uid_is_an_error(holdfast):
    if os.getuid() != 0:
        pytest.skip("only root asks who called sudo")
    result = holdfast("run", "--", "true", env={**os.environ, "SUDO_UID": "nobody-knows"})
    assert result.returncode == 125 and "SUDO_UID" in result.stderr


# --- mistakes

def test_no_program(holdfast):
    assert_usage_error(holdfast("run"), "no program")
    assert_usage_error(holdfast("run", "--"), "no program")


def test_a_lock_has_the_name_of_the_literature_too(holdfast):
    result = holdfast("run", "--stats", "--lock", "u-scl", "--", "true")
    assert result.returncode == 0 and "holdfast: lock uscl;" in result.stderr


def test_unknown_lock(holdfast):
    assert_usage_error(holdfast("run", "--lock", "magic", "--", "true"), "magic", "glibc", "flexguard")


@pytest.mark.parametrize("conf, words", [
    ("semaphore:glibc", ["semaphore", "mutex, cond, rwlock, spin or barrier"]),
    ("rwlock:mcs", ["rwlock", "mcs", "glibc, default, flexguard"]),
    ("mutex:magic", ["mutex", "magic", "blocking, ttas"]),
    ("spin", ["spin"]),
    ("spin:", ["spin"]),
    (":glibc", ["''"]),
    ("mutex:u-scl(slice=2)", ["slice", "'2'", "2ms"]),
    ("cond@store:glibc", ["cond", "mutex@PLACE and rwlock@PLACE"]),
    ("rwlock@store:u-scl", ["rwlock", "u-scl", "flexguard, rwscl"]),
])
def test_conf_that_makes_no_sense(holdfast, conf, words):
    assert_usage_error(holdfast("run", "--conf", conf, "--", "true"), *words)
    assert_usage_error(holdfast("run", "--", "true", env={**os.environ, "HOLDFAST_CONF": conf}), *words)


def test_conf_reaches_the_program(holdfast):
    conf = "mutex:blocking,rwlock:glibc,spin:default"
    result = holdfast("run", "--conf", conf, "--", "sh", "-c", 'echo "$HOLDFAST_CONF"')
    assert (result.stdout, result.stderr, result.returncode) == (conf + "\n", "", 0)
    assert INTERPOSER.name in holdfast("run", "--lock", "glibc", "--conf", conf, "--", "cat", "/proc/self/maps").stdout


def test_interposer_alone_complains_once_of_a_conf_that_makes_no_sense():
    environment = {**os.environ, "LD_PRELOAD": str(INTERPOSER), "HOLDFAST_CONF": "mutex:magic"}
    result = subprocess.run(["/bin/true"], env=environment, capture_output=True, text=True, check=True)
    assert result.stderr.count("\n") == 1 and "HOLDFAST_CONF" in result.stderr and "magic" in result.stderr


def test_unknown_option_and_verb(holdfast):
    assert_usage_error(holdfast("run", "--fast", "--", "true"))
    assert_usage_error(holdfast("run", "--fast", "true"), "--fast")
    assert_usage_error(holdfast("fly"), "'fly'")
    assert_usage_error(holdfast())


def test_program_that_does_not_exist(holdfast):
    result = holdfast("run", "--", "no-such-program")
    assert result.returncode == 127
    assert result.stderr == "holdfast: there is no program 'no-such-program': check its name and PATH\n"


def test_script_without_its_interpreter(holdfast, tmp_path):
    script = tmp_path / "no-interpreter"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    in_path = {**os.environ, "PATH": f"{os.environ['PATH']}:{tmp_path}"}
    for result in [holdfast("run", "--", script), holdfast("run", "--", script.name, env=in_path)]:
        assert result.returncode == 126 and "interpreter" in result.stderr and result.stderr.count("\n") == 1


def test_program_that_cannot_be_executed(holdfast, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    result = holdfast("run", "--", plain)
    assert result.returncode == 126 and str(plain) in result.stderr


def test_a_socket_that_nobody_answers_delays_the_program_but_does_not_stop_it():
    environment = {**os.environ, "LD_PRELOAD": str(INTERPOSER), "HOLDFAST_SOCKET": "@nobody-listens-here"}
    took = []
    while not took or min(took) >= 5:  # others may have the CPUs for a while, but not each time
        assert len(took) < 10, took
        began = time.monotonic()
        result = subprocess.run(["echo", "fine"], env=environment, capture_output=True, text=True, check=True)
        took.append(time.monotonic() - began)
        assert result.stdout == "fine\n" and result.stderr == ""


# The dynamic linker takes no library from LD_PRELOAD for a program that gains rights; nobody must notice.
@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a program of another user")
def test_setuid_program_runs_as_it_is(holdfast, tmp_path):
    program = tmp_path / "cat"
    shutil.copy("/bin/cat", program)
    shutil.chown(program, NOBODY, NOBODY)
    program.chmod(0o4755)
    plain = subprocess.run([program, "/proc/self/status"], capture_output=True, text=True, check=True)
    assert f"Uid:\t0\t{NOBODY}" in plain.stdout
    for arguments in [["/proc/self/status"], ["/proc/self/maps"]]:
        result = holdfast("run", "--", program, *arguments)
        assert result.returncode == 0 and INTERPOSER.name not in result.stdout + result.stderr
    result = holdfast("run", "--stats", "--", program, "/dev/null")
    assert result.returncode == 0 and stats_of(result)["acquisitions"] == 0


def test_interposer_alone_works():
    environment = {**os.environ, "LD_PRELOAD": str(INTERPOSER)}
    result = subprocess.run(["sh", "-c", "echo fine"], env=environment, capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("fine\n", "")
