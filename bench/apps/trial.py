# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run of an app, plain or under 'holdfast run': its processes, its time limit, its directory."""

import os
import re
import select
import shutil
import signal
import subprocess
import time

from containment import end_others, others

# What 'holdfast run --stats' adds to the standard error, at its end.
STATS = re.compile(r"holdfast: lock \S+; monitor: (.*)\n((?:  [a-z ]+? +\d+\n)+)\Z")
GRACE_S = 2  # for processes that a server leaves to end by themselves


class Failed(Exception):
    """A run that did not do what it must."""


def as_shell(status):
    """128 + the signal's number where a signal ended a program, as a shell has it."""
    return 128 - status if status < 0 else status


def meaning(status):
    """An exit status in words."""
    try:
        return f"status {as_shell(status)} ({signal.Signals(as_shell(status) - 128).name})"
    except ValueError:
        return f"status {status}"


class Trial:
    """What an app's run() gets: starts and ends the program under test, and drives it with others.

    directory   is the run's own, and is removed after it
    built       is where the app's prepare() has left what it needs
    seconds     is how long the load should last
    counts      is whether Holdfast is to tell what its locks did
    more        are more options for it
    """

    def __init__(self, directory, built, holdfast, account, seconds, timeout_s, counts=True, more=()):
        self.directory = directory
        self.built = built
        self.seconds = seconds
        self.timeout_s = timeout_s
        self.deadline = time.monotonic() + timeout_s
        self.holdfast = holdfast
        self.subject = None
        self.stats = {}
        self.counts = counts
        self.monitor = None
        directory.mkdir()
        uid, gid = account.pw_uid, account.pw_gid
        os.chown(directory, uid, gid)
        self.drop_rights = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--"]
        # Nothing of who calls us. TMPDIR: nothing gets into /tmp.
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TMPDIR": str(directory),
                            "HOME": str(directory), "USER": account.pw_name}
        if holdfast:
            # 'holdfast run' keeps root's rights and runs the program as who called sudo. It does not talk to programs
            # that have become another user by themselves, as by setpriv.
            self.begin_with = [holdfast, "run", *(["--stats"] if counts else []), *more, "--"]
            self.begin_environment = self.environment | {"SUDO_UID": str(uid), "SUDO_GID": str(gid)}
        else:
            self.begin_with = self.drop_rights
            self.begin_environment = self.environment

    @property
    def whole_seconds(self):
        """For load generators that take no fractions."""
        return max(1, round(self.seconds))

    def left_s(self):
        left_s = self.deadline - time.monotonic()
        if left_s <= 0:
            raise Failed(f"timeout after {self.timeout_s:g} s")
        return left_s

    def output(self, stream):
        return self.directory / f"subject.{stream}"

    def begin(self, *command):
        """Starts the program under test, plain or under Holdfast."""
        with self.output("stdout").open("wb") as stdout, self.output("stderr").open("wb") as stderr:
            self.began = time.monotonic()
            self.subject = subprocess.Popen(
                [*map(str, [*self.begin_with, "env", f"HOME={self.directory}", *command])], stdin=subprocess.DEVNULL,
                stdout=stdout, stderr=stderr, cwd=self.directory, env=self.begin_environment, start_new_session=True)

    def wait_until(self, ready):
        """Until ready() is true. It may raise OSError for 'not yet'."""
        while True:
            try:
                if ready():
                    return
            except OSError:
                pass
            if self.subject.poll() is not None:
                raise Failed("did not start")
            self.left_s()
            time.sleep(0.02)

    def call(self, *command, status=0, text=None):
        """Runs another program to its end, as it is, and returns its output. A status of None is any."""
        try:
            result = subprocess.run(
                [*map(str, [*self.drop_rights, *command])], input=text or "", text=True, capture_output=True,
                timeout=self.left_s(), cwd=self.directory, env=self.environment, start_new_session=True, check=False)
        except subprocess.TimeoutExpired as expired:
            raise Failed(f"timeout after {self.timeout_s:g} s, in {command[0]}") from expired
        if status not in (None, result.returncode):
            said = (result.stderr.strip() or result.stdout.strip()).splitlines()
            raise Failed(f"{command[0]} ended with {meaning(result.returncode)}: {said[-1] if said else 'no output'}")
        return result.stdout

    def wait_for_end(self):
        """Until the program under test has ended by itself. Returns the seconds since it began."""
        # Not by Popen.wait, which looks every 50 ms when it has a timeout.
        process = os.pidfd_open(self.subject.pid)
        ended = select.select([process], [], [], self.left_s())[0]
        seconds = time.monotonic() - self.began
        os.close(process)
        if not ended:
            raise Failed(f"timeout after {self.timeout_s:g} s")
        return seconds

    def end(self, number=None, status=0):
        """Sends the signal, if any, and waits for the end of the program under test, which must have this status.

        Returns its standard output and error.
        """
        if number:
            self.subject.send_signal(number)
        try:
            ended_with = as_shell(self.subject.wait(self.left_s()))
        except subprocess.TimeoutExpired as expired:
            raise Failed(f"timeout after {self.timeout_s:g} s, at its end") from expired
        if self.holdfast and self.counts:
            self.take_stats()
        if ended_with != status:
            raise Failed(f"a wrong end: {meaning(status)} was expected")
        patience = time.monotonic() + GRACE_S
        while left := others():
            if time.monotonic() > patience:
                raise Failed("left processes running: " + ", ".join(name for _, name in left))
            time.sleep(0.01)
        return self.said("stdout"), self.said("stderr")

    def said(self, stream):
        """What the program under test has written, without what 'holdfast run' adds."""
        return STATS.sub("", self.output(stream).read_text(errors="replace"))

    def last_words(self):
        lines = self.said("stderr").strip().splitlines()
        return lines[-1] if lines else "no output"

    def take_stats(self):
        """Keeps what Holdfast counted; also makes sure that it was there."""
        found = STATS.search(self.output("stderr").read_text(errors="replace"))
        if not found:
            raise Failed("'holdfast run --stats' printed no counts")
        if "ld.so: object" in self.said("stderr"):
            raise Failed("not interposed")
        self.monitor = found.group(1)
        for line in found.group(2).splitlines():
            name, _, count = line.strip().rpartition(" ")
            self.stats[name.strip()] = int(count)

    def its_end(self):
        """How the program under test ended, or an empty string if it runs."""
        if self.subject is None:
            return ""
        try:
            self.subject.wait(0.5)  # a client may hear of it before we do
        except subprocess.TimeoutExpired:
            return ""
        return f"; it ended with {meaning(as_shell(self.subject.returncode))}: {self.last_words()}"

    def close(self):
        """Whatever came before: no process and no file stays."""
        end_others()
        shutil.rmtree(self.directory)
