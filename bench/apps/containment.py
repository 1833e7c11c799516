# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs work where nothing of it can stay behind: in namespaces of its own for processes, mounts, IPC and network."""

import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback

# <linux/sched.h>, <linux/prctl.h>, <linux/sockios.h>, <net/if.h>. Python 3.11 has no os.unshare().
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x08000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG = 1
SIOCSIFFLAGS, IFF_UP = 0x8914, 1

libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """The machine does not let us do it."""


def unshare(flags):
    if libc.unshare(flags) != 0:
        reason = ctypes.get_errno()
        hint = ": run it as root, in a container with CAP_SYS_ADMIN" if reason == errno.EPERM else ""
        raise Refused(f"namespaces can't be made: {os.strerror(reason)}{hint}")


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def settle_in(directory):
    """Own mounts, with directory in memory; own shared memory; a network that is a loopback interface alone."""
    unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET)
    mount("--make-rprivate", "/")
    mount("-t", "proc", "proc", "/proc")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", directory)
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def contained(work):
    """Calls work(directory) as the first process of a new PID namespace and returns what it returns, an exit status.

    When that process ends, however it does, the kernel ends all others of the namespace before we hear of it; the
    directory's contents go with the mount. So SIGINT and SIGTERM need do no more than end it.
    """
    unshare(CLONE_NEWPID)
    with tempfile.TemporaryDirectory(prefix="holdfast-apps-") as directory:
        first = os.fork()
        if first == 0:
            status = 2
            try:
                libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                os.setsid()  # Ctrl-C is for our parent
                settle_in(directory)
                status = work(directory)
            except Refused as refusal:
                print(f"apps: {refusal}", file=sys.stderr)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(status)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            return os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
        except BaseException:
            os.kill(first, signal.SIGKILL)
            os.waitpid(first, 0)
            raise


def others():
    """(pid, name) of each process of our namespace but ourselves, its first one."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != 1:
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    name, _, rest = file.read().partition(" (")[2].rpartition(") ")
            except OSError:
                continue  # gone
            if not rest.startswith("Z"):
                found.append((int(entry), name))
    return found


def end_others():
    """Kills all other processes of our namespace, and reaps them."""
    assert os.getpid() == 1, "not in a namespace of our own"
    while left := others():
        for pid, _ in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    try:
        while os.waitpid(-1, 0):
            pass
    except ChildProcessError:
        pass
