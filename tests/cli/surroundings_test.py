# SPDX-License-Identifier: MIT OR Apache-2.0
"""holdfast where something that it needs is not there: it says what, and what to do, in one sentence.

Shown able to fail: why_interposer_stops that returns nothing (musl); a preload linked without unwinding.c (libgcc_s);
access(2) in place of a look into BTF; /dev/null alone as input.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, INTERPOSER

only_root = pytest.mark.skipif(os.getuid() != 0, reason="only root has chroot and namespaces")

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waits, cleaned;
static void clean_up(void *unused) {
    (void)unused;
    cleaned = pthread_mutex_unlock(&mutex) == 0;
}
static void *wait_for_ever(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean_up, NULL);
    waits = 1;
    for (;;)
        pthread_cond_wait(&cond, &mutex);
    pthread_cleanup_pop(0);
    return unused;
}
int main(int count, char **arguments) {
    pthread_t thread;
    (void)arguments;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    if (count > 1) {
        pthread_create(&thread, NULL, wait_for_ever, NULL);
        for (int seen = 0; !seen;) {
            pthread_mutex_lock(&mutex);
            seen = waits;
            pthread_mutex_unlock(&mutex);
        }
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        if (!cleaned)
            return 1;
    }
    puts("fine");
    return 0;
}
"""


@pytest.fixture
def compiled(tmp_path):
    def compile_with(*command):
        source = tmp_path / "program.c"
        source.write_text(PROGRAM)
        subprocess.run([*command, source, "-pthread", "-o", tmp_path / "program"], check=True)
        return tmp_path / "program"

    return compile_with


def one_line(text):
    return text.count("\n") == 1


# A dynamic linker that ends a program which it can't preload a library into.
def test_a_program_of_musl_runs_as_it_is(holdfast, compiled):
    program = compiled("musl-gcc")
    result = holdfast("run", "--", program)
    assert (result.returncode, result.stdout) == (0, "fine\n")
    assert "musl" in result.stderr and one_line(result.stderr)
    told = holdfast("doctor", "--", program)
    assert told.returncode == 1 and "musl" in told.stdout and "as it is" in told.stdout


# A C program in a container has no libgcc_s, and needs none but to cancel threads.
@only_root
def test_a_container_without_libgcc_runs_programs(compiled, tmp_path):
    program, root = compiled("gcc"), tmp_path / "root"
    (root / "lib").mkdir(parents=True)
    (root / "lib64").mkdir()
    shutil.copy(program, root)
    shutil.copy(INTERPOSER, root)
    for library in ["libc.so.6", "ld-linux-x86-64.so.2"]:
        found = subprocess.run(["gcc", f"-print-file-name={library}"], capture_output=True, text=True, check=True)
        shutil.copy(os.path.realpath(found.stdout.strip()), root / ("lib64" if "ld-" in library else "lib") / library)
    command = ["chroot", root, "/lib64/ld-linux-x86-64.so.2", "--library-path", "/lib",
               "--preload", f"/{INTERPOSER.name}", f"/{program.name}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


# The unwinder is found when a thread is cancelled: nothing has loaded it before in a C program.
def test_a_cancelled_wait_is_unwound(holdfast, compiled):
    program = compiled("gcc")
    needed = subprocess.run(["readelf", "-d", INTERPOSER], capture_output=True, text=True, check=True).stdout
    assert "libgcc_s" not in needed
    result = holdfast("run", "--", program, "cancels")
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


def test_stats_of_a_static_program_say_why_nothing_was_counted(holdfast, compiled):
    result = holdfast("run", "--stats", "--", compiled("gcc", "-static"))
    assert result.stdout == "fine\n"
    assert "nothing was counted" in result.stderr and "statically" in result.stderr


@only_root
def test_stats_in_another_network_namespace_say_why_nothing_was_counted(holdfast, compiled):
    result = holdfast("run", "--stats", "--", "unshare", "-n", compiled("gcc"))
    assert result.stdout == "fine\n"
    assert "nothing was counted" in result.stderr and "unshare -n" in result.stderr


@only_root
def test_without_proc_it_says_so():
    result = subprocess.run(["unshare", "-m", "sh", "-c", f"umount -l /proc && exec {COMMAND} run -- true"],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 125 and "mount /proc" in result.stderr and one_line(result.stderr)


# Too few descriptors for a monitor: the program runs without one, or holdfast says that it can't.
@pytest.mark.parametrize("few", [8, 16, 24])
def test_with_few_descriptors_it_says_so(few):
    result = subprocess.run(["sh", "-c", f"ulimit -n {few}; exec {COMMAND} run --stats -- echo fine"],
                            capture_output=True, text=True, check=False)
    assert "ulimit -n" in result.stderr and "Invalid argument" not in result.stderr
    assert (result.returncode, result.stdout) in [(0, "fine\n"), (125, "")]


# Whatever is not enough of them, the program's own end counts, and nobody is told to report it.
@only_root
@pytest.mark.parametrize("few", [4, 8, 12, 16])
@pytest.mark.parametrize("verb", [["run", "--stats", "--", "sh", "-c", "exit 42"],
                                  ["monitor", "--socket", "{tmp}/socket", "--pins", ""],
                                  ["record", "-p", "1", "--seconds", "0.1", "-o", "{tmp}/record"]])
def test_every_verb_says_which_limit_of_descriptors_is_too_low(few, verb, tmp_path):
    words = [word.format(tmp=tmp_path) for word in verb]
    command = ["sh", "-c", f'ulimit -n {few}; exec "$@"', "sh", COMMAND, *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert "please report" not in result.stderr
    if result.returncode == 125:
        assert "ulimit -n" in result.stderr
    else:
        assert result.returncode == 42 and verb[0] == "run"


# BTF is in /sys: what is missing is not a kernel.
@only_root
@pytest.mark.parametrize("verb", [["doctor"], ["run", "--stats", "--", "true"],
                                  ["monitor", "--socket", "/nowhere/socket"],
                                  ["record", "-p", "1", "--seconds", "0.1", "-o", "/dev/null"]])
def test_without_sys_it_says_so(verb):
    result = subprocess.run(["unshare", "-m", "sh", "-c", 'umount -l /sys && exec "$@"', "sh", COMMAND, *verb],
                            capture_output=True, text=True, check=False, timeout=100)
    said = result.stdout + result.stderr
    assert "mount /sys" in said and "CONFIG_DEBUG_INFO_BTF" not in said


# A sandbox of Landlock, which lets nothing be opened but below the places: neither BTF nor /dev/null.
SANDBOX = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **arguments) {
    static const char *places[] = {"/usr", "/lib", "/lib64", "/bin", PLACE};
    struct landlock_ruleset_attr handled = {.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE};
    long rules = syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0 || count < 2)
        return 77;
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        struct landlock_path_beneath_attr below = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
                                                   .parent_fd = open(places[i], O_PATH | O_CLOEXEC)};
        syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_landlock_restrict_self, rules, 0))
        return 77;
    execv(arguments[1], arguments + 1);
    perror(arguments[1]);
    return 1;
}
"""


@pytest.fixture
def in_landlock(tmp_path):
    (tmp_path / "sandbox.c").write_text(SANDBOX)
    sandbox = tmp_path / "sandbox"
    subprocess.run(["gcc", tmp_path / "sandbox.c", f'-DPLACE="{COMMAND.parents[1]}"', "-o", sandbox], check=True)

    def run(*words):
        result = subprocess.run([sandbox, COMMAND, *words], capture_output=True, text=True, check=False, timeout=100)
        if result.returncode == 77:
            pytest.skip("no Landlock here")
        return result

    return run


@only_root
def test_in_a_sandbox_programs_run_and_are_compared(in_landlock):
    result = in_landlock("run", "--stats", "--", "echo", "fine")
    assert (result.returncode, result.stdout) == (0, "fine\n")
    assert "let holdfast read /sys/kernel/btf/vmlinux" in result.stderr and "doctor --verbose" not in result.stderr
    result = in_landlock("compare", "--rounds", "1", "--locks", "glibc,blocking", "--", "sh", "-c", "cat; exit 0")
    assert result.returncode == 0 and "ok" in result.stdout


@only_root
def test_in_a_sandbox_doctor_says_what_it_may_not_read(in_landlock):
    assert "no locks" in in_landlock("doctor", "--", "true").stdout
    result = in_landlock("doctor")
    assert "/sys/kernel/btf/vmlinux can't be read: Permission denied" in result.stdout
    assert "let holdfast read" in result.stdout and "CONFIG_DEBUG_INFO_BTF" not in result.stdout


@pytest.mark.parametrize("verb", [["run", "--stats", "--", "true"], ["monitor", "--socket", "/nowhere/socket"],
                                  ["record", "-p", "1", "--seconds", "0.1", "-o", "/dev/null"]])
def test_in_a_user_namespace_it_says_so(verb):
    result = subprocess.run(["unshare", "--user", "--map-root-user", COMMAND, *verb], capture_output=True, text=True,
                            check=False, timeout=100)
    if "unshare failed" in result.stderr:
        pytest.skip("no user namespaces here")
    assert "user namespace" in result.stderr and "run as root" not in result.stderr


def test_with_little_memory_it_says_so():
    result = subprocess.run(["sh", "-c", f"ulimit -v 20000; exec {COMMAND} run --stats -- echo fine"],
                            capture_output=True, text=True, check=False)
    assert "ulimit -v" in result.stderr and "bad_alloc" not in result.stderr
    assert (result.returncode, result.stdout) in [(0, "fine\n"), (125, "")]


# As a daemon leaves its starter: it would have a monitor that is gone; the manual says so, and --stats.
@only_root
def test_stats_tell_of_processes_that_are_left_behind(holdfast, compiled, tmp_path):
    del compiled
    told = tmp_path / "pid"
    result = holdfast("run", "--stats", "--", "sh", "-c",  # until it is the other program, and asleep
                      f"sleep 300 >/dev/null 2>&1 & echo $! > {told}; "
                      "until grep -q '^[0-9]* (sleep) S' /proc/$!/stat; do sleep 0.05; done; sleep 1")
    os.kill(int(Path(told).read_text(encoding="ascii")), 9)
    assert "processes left behind: 1" in result.stderr


# Reader-writer locks and barriers that are older can't be shared with it: the line says what to do.
def test_stats_tell_of_a_library_with_bindings_of_its_own(holdfast):
    load = "import ctypes, os; ctypes.CDLL('libm.so.6', mode=os.RTLD_NOW | {})"
    plain = holdfast("run", "--stats", "--", "/usr/bin/python3", "-c", load.format("0"))
    assert plain.returncode == 0 and "bindings of their own" not in plain.stderr
    deep = holdfast("run", "--stats", "--", "/usr/bin/python3", "-c", load.format("os.RTLD_DEEPBIND"))
    assert deep.returncode == 0
    assert "libraries with bindings of their own" in deep.stderr and "rwlock:glibc" in deep.stderr
