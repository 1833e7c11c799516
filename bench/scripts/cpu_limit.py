# SPDX-License-Identifier: MIT OR Apache-2.0
"""A limit of CPU time, as containers have it: a cgroup of one's own, version 2 or 1, whichever has the controller."""

import os
import time
from pathlib import Path

PERIOD_US = 100_000

MISSING = ("no cgroup with a CPU limit can be made: {}. It needs root's rights and a mounted, writable hierarchy with "
           "the cpu controller: version 2 at /sys/fs/cgroup, or version 1 at /sys/fs/cgroup/cpu; in a container, "
           "start it with --privileged --cgroupns=private")


class Unlimited(Exception):
    """Why there is no limit, as a sentence for the user."""


def hierarchies(mountinfo):
    """(directory, version) of each mounted hierarchy that may have the controller; `mountinfo`: proc_pid_mountinfo(5).
    """
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if kind[0] == "cgroup2":
            yield Path(fields[4]), 2
        elif kind[0] == "cgroup" and "cpu" in kind[-1].split(","):
            yield Path(fields[4]), 1


class CpuLimit:
    """A cgroup whose processes together may use so many percent of one CPU, in each period of 100 ms."""

    def __init__(self, percent, mountinfo=None):
        self.directory = None
        why = "none is mounted"
        text = mountinfo if mountinfo is not None else Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        for mounted, version in hierarchies(text):
            try:
                self.directory = self._make(mounted, version, percent * PERIOD_US // 100)
                return
            except OSError as error:
                why = f"{error.filename or mounted}: {error.strerror}"
        raise Unlimited(MISSING.format(why))

    @staticmethod
    def _make(mounted, version, quota_us):
        if version == 2:
            try:
                (mounted / "cgroup.subtree_control").write_text("+cpu")
            except OSError:
                pass  # it is on, or the limit's file is missing below
        made = mounted / f"holdfast-limit-{os.getpid()}"
        made.mkdir()
        try:
            if version == 2:
                (made / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
            else:
                (made / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (made / "cpu.cfs_quota_us").write_text(str(quota_us))
        except OSError:
            made.rmdir()
            raise
        return made

    def enter(self):
        """Puts the calling process there: for subprocess's preexec_fn."""
        (self.directory / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        """Its processes have ended; the kernel may take a moment to see it."""
        for attempt in range(100):
            try:
                self.directory.rmdir()
                return
            except OSError:
                if attempt == 99:
                    raise
                time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
