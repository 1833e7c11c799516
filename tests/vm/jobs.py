# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a boot is to do: commands of guest/tests.txt, or one given by hand, packed into an archive of their own."""

from dataclasses import dataclass, replace
from pathlib import Path

from initramfs import Cpio

LIST = Path(__file__).resolve().parent / "guest" / "tests.txt"
MANY_CPUS = 16          # above, the group "many": one host thread does the work of all
CPUS_OF_A_LIMIT = 8     # the limits of the list suffice for so many
BY_HAND_LIMIT_S = 3600


@dataclass(frozen=True)
class Command:
    name: str
    groups: tuple
    limit_s: int
    line: str


def parse(text):
    """The commands that a text like guest/tests.txt names."""
    commands = []
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line:
            name, groups, limit_s, command = line.split(None, 3)
            commands.append(Command(name, tuple(groups.split(",")), int(limit_s), command))
    return commands


def listed():
    return parse(LIST.read_text())


def for_machine(cpus, names, commands):
    """The commands for a machine with so many CPUs, or those named. KeyError: there is none of that name.

    All CPUs of a guest share one clock of instructions, so that each of 64 gets an eighth of what one of 8 gets in a
    second of the guest: limits grow with them."""
    commands = [replace(one, limit_s=one.limit_s * max(1, cpus // CPUS_OF_A_LIMIT)) for one in commands]
    if names:
        by_name = {command.name: command for command in commands}
        return [by_name[name] for name in names]
    group = "many" if cpus > MANY_CPUS else "every"
    return [command for command in commands if group in command.groups]


def by_hand(words):
    return Command("command", (), BY_HAND_LIMIT_S, words)


def archive(commands, port, shell):
    """The boot's own archive, to stand behind the root file system's."""
    cpio = Cpio()
    cpio.file("job/port", port.encode(), 0o644)
    cpio.file("job/list", "".join(f"{one.name} {one.limit_s} {one.line}\n" for one in commands).encode(), 0o644)
    if shell:
        cpio.file("job/shell", b"", 0o644)
    return cpio.finished()
