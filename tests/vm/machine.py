# SPDX-License-Identifier: MIT OR Apache-2.0
"""A virtual machine, by QEMU's software emulation: no rights and no virtualisation are needed on the host.

The guest's clock counts its instructions and skips what it sleeps (icount): so neither a busy host nor a kernel that
measures its clock there changes what a guest sees, and a test that passes once passes. All virtual CPUs take turns on
one host thread, together with MIPS million instructions a second of their time: a slow machine."""

import os
import selectors
import subprocess
import time
from dataclasses import dataclass

from report import MARK, Report

BOOT_LIMIT_S = 3600   # to the first line of the report: 5 s when nothing else runs, a minute with a whole system
GRACE_S = 300         # what a command may take longer than its limit, which the guest itself keeps by its own clock;
SLOWER = 10           # and that runs so much slower than ours, where others use the CPU
MIPS = 125
MIPS_KNOWN = (1000, 500, 250, 125)  # 2^0 to 2^3 ns for an instruction
CPUS_OF_A_BOOT = 8    # with more, all but the first start when the kernel is up: until its clock is, idle ones tick
CLOCK_OF_HOST = ("-accel", "tcg,thread=single")              # for people: else the time rushes on while they think


@dataclass(frozen=True)
class Board:
    """An architecture's machine: where the kernel speaks, and where the report comes out."""
    emulator: str
    options: tuple
    console: str
    port: str
    words: str = ""     # of the kernel's command line, besides those that every guest has
    mips: int = MIPS    # of all CPUs together

    @property
    def shared(self):
        """Whether there is one serial port for both."""
        return self.console == self.port

    @property
    def instructions_as_clock(self):
        return ("-icount", f"shift={MIPS_KNOWN.index(self.mips)},sleep=off")


BOARDS = {
    "amd64": Board("qemu-system-x86_64", ("-machine", "q35", "-cpu", "max"), "ttyS0", "ttyS1"),
    # Debian 12's QEMU has one serial port on this board.
    "arm64": Board("qemu-system-aarch64", ("-machine", "virt,gic-version=3", "-cpu", "max"), "ttyAMA0", "ttyAMA0"),
}


def command_line(emulator, board, vmlinuz, initrd, cpus, memory_mib, clock):
    # Tests of the kernel's own cryptography would take 15 s after it is up, beside ours.
    kernel_line = f"console={board.console} quiet panic=-1 tsc=reliable cryptomgr.notests rdinit=/init"
    if board.shared:
        kernel_line += " loglevel=0"
    if cpus > CPUS_OF_A_BOOT:
        kernel_line += " maxcpus=1"
    if board.words:
        kernel_line += f" {board.words}"
    return [*emulator.words, *board.options, *clock, "-smp", str(cpus), "-m", str(memory_mib),
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", str(vmlinuz), "-initrd", str(initrd), "-append", kernel_line]


def interact(emulator, board, vmlinuz, initrd, cpus, memory_mib):
    """The guest's console on this terminal, until the guest ends."""
    command = command_line(emulator, board, vmlinuz, initrd, cpus, memory_mib, CLOCK_OF_HOST)
    return subprocess.run([*command, "-serial", "mon:stdio"]).returncode


@dataclass
class Ending:
    """How a boot came out: its report, and what went wrong with the machine itself ("": nothing)."""
    report: Report
    trouble: str


class _Lines:
    """The lines of a pipe, each waited for until a deadline."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.selector = selectors.DefaultSelector()
        self.selector.register(descriptor, selectors.EVENT_READ)
        self.rest = b""

    def next(self, deadline):
        """A line; None at the end. TimeoutError when the deadline is over."""
        while b"\n" not in self.rest:
            if not self.selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            more = os.read(self.descriptor, 65536)
            if not more:
                return None
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")


def _follow(lines, limits, report, on_line):
    """Reads the report to its end. Returns what is wrong with the machine, or ''."""
    deadline, waited_for = time.monotonic() + BOOT_LIMIT_S, "its kernel to boot"
    while True:
        try:
            line = lines.next(deadline)
        except TimeoutError:
            return f"hung: no sign of life while waiting for {waited_for}"
        if line is None:
            return "" if report.done else "stopped without an exit status"
        ended = report.take(line)
        on_line(line, ended)
        if line.startswith(MARK):
            name = report.going_on.name if report.going_on else ""
            deadline = time.monotonic() + SLOWER * limits.get(name, 0) + GRACE_S
            waited_for = name or "the next command"


def boot(emulator, board, vmlinuz, initrd, cpus, memory_mib, console_log, limits, on_line):
    """Boots once and follows the report. on_line(line, the result that ended with it or None)."""
    serial = ["-serial", "stdio"] if board.shared else ["-serial", f"file:{console_log}", "-serial", "stdio"]
    report = Report()
    process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL",
                                *command_line(emulator, board, vmlinuz, initrd, cpus, memory_mib,
                                              board.instructions_as_clock), *serial],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        trouble = _follow(_Lines(process.stdout.fileno()), limits, report, on_line)
    finally:
        if process.poll() is None and not report.done:
            process.kill()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired: # it has reported all, and does not switch itself off
            process.kill()
            process.wait()
        process.stdout.close()
    report.stop()
    return Ending(report, trouble)
