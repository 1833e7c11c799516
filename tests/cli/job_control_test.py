# SPDX-License-Identifier: MIT OR Apache-2.0
"""holdfast run and a shell's jobs: Ctrl-Z and fg, and signals that come at bad moments.

Shown able to fail: without a look whether the program is still stopped (fg, went_on), with signals open before the
waker is known (waker), with the program's number known after it was collected (end).
"""

import os
import pty
import select
import signal
import subprocess

import pytest

from conftest import COMMAND, wait_until

BAD_MOMENTS = os.environ.get("SIGNALS_AT_BAD_MOMENTS", "build/release/tests/cli/libsignals_at_bad_moments.so")


class shell_on_terminal:
    """An interactive bash with a terminal of its own."""

    def __init__(self):
        self.shown = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(PS1="next> ", TERM="dumb", LC_ALL="C")
            os.execv("/bin/bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])

    def type(self, text):
        os.write(self.terminal, text.encode())

    def shows(self, text, times=1):
        """Waits until it has shown the text so often."""

        def has():
            while select.select([self.terminal], [], [], 0)[0]:
                self.shown += os.read(self.terminal, 65536).decode(errors="replace")
            return self.shown.count(text) >= times

        try:
            wait_until(has)
        except AssertionError:
            raise AssertionError(f"no {text!r} of number {times} in {self.shown!r}") from None

    def end(self):
        os.close(self.terminal)  # hangs up
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def shell():
    started = shell_on_terminal()
    yield started
    started.end()


# The terminal stops both at once, and sometimes holdfast hears of the program's stop before its own: then fg found it
# about to stop once more. What is typed behind fg is the program's, and the shell has told of no other stop by then.
# The shell may tell of holdfast's stop while the program is still on its way to its own, in a read of one byte: that
# takes a space, which `read` leaves out.
def test_fg_after_ctrl_z_continues_both_every_time(shell):
    rounds = 25
    shell.shows("next> ")
    shell.type(f"{COMMAND} run -- sh -c 'echo rea''dy; while read -r line; do echo \"got <$line>\"; done'\n")
    shell.shows("ready")
    for i in range(1, rounds + 1):
        shell.type(f"a{i}\n")
        shell.shows(f"got <a{i}>")
        shell.type("\x1a")
        shell.shows("Stopped", i)
        shell.shows("next> ", 1 + i)
        shell.type(" fg; echo back with $?\n")
        shell.shows("while read -r line", 1 + 2 * i)  # typed, and told by each stop and each fg
        shell.type(f"b{i}\n")
        shell.shows(f"got <b{i}>")
    shell.type("\x04")
    shell.shows("back with 0")
    assert shell.shown.count("Stopped") == rounds, shell.shown


class told:
    """What holdfast did, as signals_at_bad_moments.c noted it."""

    def __init__(self, moment, program, tmp_path):
        path = tmp_path / "note"
        environment = {**os.environ, "LD_PRELOAD": str(BAD_MOMENTS), "BAD_MOMENT": moment,
                       "BAD_MOMENT_NOTE": str(path), "ASAN_OPTIONS": "verify_asan_link_order=0"}
        # In a process group of its own, as a shell would have it: the kernel stops nobody in an orphaned one this way.
        process = subprocess.Popen([COMMAND, "run", "--", "sh", "-c", program], env=environment, process_group=0)
        try:
            self.status = process.wait(timeout=120)
        finally:
            process.kill()
            process.wait()
        lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        self.signals = [(what, int(number)) for pid, what, whom, number in lines if int(pid) == process.pid]


def test_does_not_stop_with_a_program_that_has_gone_on(tmp_path):
    run = told("stop", "kill -TSTP $$; exit 5", tmp_path)
    assert run.status == 5
    assert ("raise", signal.SIGSTOP) not in run.signals


def test_what_wakes_holdfast_is_not_passed_on_to_the_program(tmp_path):
    run = told("waker", "kill -TSTP $$; exit 5", tmp_path)
    assert run.status == 5
    assert ("kill", signal.SIGKILL) in run.signals, "no waker was made"
    assert ("kill", signal.SIGCONT) not in run.signals


def test_no_signal_goes_to_the_number_of_a_program_that_was_collected(tmp_path):
    run = told("end", "exit 5", tmp_path)
    assert run.status == 5
    assert ("kill", signal.SIGUSR1) not in run.signals
