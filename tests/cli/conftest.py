# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all tests of the command need: where it is, running it, and looking at what it started."""

import atexit
import os
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

COMMAND = Path(os.environ.get("HOLDFAST", "build/release/bin/holdfast")).resolve()
PROGRAMS = COMMAND.parent.parent / "libexec" / "holdfast"
INTERPOSER = COMMAND.parent.parent / "lib" / "libholdfast-preload.so"
NOBODY = 65534  # a user without any rights
# Other tests may run beside. All that this process starts has its number; and the folder that tests' folders are in,
# which some tests open for other users, is its own: the next pytest that starts closes the one that all share.
os.environ["TESTED_BY"] = str(os.getpid())
os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.mkdtemp(prefix="hf-")
os.chmod(os.environ["PYTEST_DEBUG_TEMPROOT"], 0o755)
atexit.register(shutil.rmtree, os.environ["PYTEST_DEBUG_TEMPROOT"])  # after pytest's own

needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="on one CPU no program asks for a monitor")


@pytest.fixture
def holdfast():
    """Runs the command to its end; the result has returncode, stdout and stderr."""

    def run(*arguments, timeout=200, **options):
        return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                              check=False, stdin=subprocess.DEVNULL, **options)

    return run


@pytest.fixture
def start_holdfast():
    """Starts the command; what still runs at the end of the test is ended."""
    started = []

    def start(*arguments, as_what=()):
        process = subprocess.Popen([*as_what, COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def on_terminal():
    """Runs the command (or another) with a terminal and returns (what the terminal got, exit status).

    Types Ctrl-C once, as soon as interrupt_when says so of what the terminal has got by then.
    """

    def run(*arguments, interrupt_when=lambda shown: False, timeout=200, command=COMMAND):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(command, [str(command), *map(str, arguments)])
        output, began, interrupted = b"", time.monotonic(), False
        while time.monotonic() - began < timeout:
            if select.select([terminal], [], [], 0.05)[0]:
                try:
                    output += os.read(terminal, 65536)
                except OSError:  # the other side is closed
                    break
            if not interrupted and interrupt_when(output.decode(errors="ignore")):
                os.write(terminal, b"\x03")
                interrupted = True
        else:
            os.kill(pid, signal.SIGKILL)
        os.close(terminal)
        return output.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    return run


@pytest.fixture
def installed_for_all(tmp_path_factory):
    """A copy that any user can run, wherever the build tree is."""
    root = tmp_path_factory.mktemp("installed")
    for part in [COMMAND, INTERPOSER]:
        place = root / part.parent.name
        place.mkdir()
        shutil.copy(part, place)
    for directory in [root, *root.parents]:
        if directory.stat().st_uid == os.getuid() and directory != Path("/"):
            directory.chmod(directory.stat().st_mode | 0o055)
    return root / "bin" / COMMAND.name


def without_rights(*command):
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *map(str, command)]


def running(name):
    """Process ids of the programs of that name in our libexec directory that this process has started."""
    found, ours = [], f"TESTED_BY={os.getpid()}".encode()
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                if ((directory / "exe").readlink() == PROGRAMS / name
                        and ours in (directory / "environ").read_bytes().split(b"\0")):
                    found.append(int(directory.name))
            except OSError:
                continue  # gone meanwhile, or not ours to see
    return found


def alive(pid):
    """False also for a zombie: collecting it is not our business."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=120):
    """Waits for the condition's value to become true, and returns it. The limit is far away: machines are slow."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("it did not come to this in time")


def assert_usage_error(result, *parts):
    """One sentence on standard error, nothing else anywhere, status 2."""
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert result.stderr.startswith("holdfast: ")
    assert result.stderr.count("\n") == 1
    for part in parts:
        assert part in result.stderr
