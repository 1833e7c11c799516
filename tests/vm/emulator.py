# SPDX-License-Identifier: MIT OR Apache-2.0
"""QEMU: this machine's, or, where that is too old, Debian 12's backport of a newer one, unpacked into the cache.

Too old to be a machine is one that divides its time by its timers alone (before 8.1, with icount): the first virtual
CPU runs to the next timer, and the others get what it leaves. A kernel whose first CPU waits for another without a
PAUSE hangs then: Linux 6.1 when it starts its second CPU. Too old to run programs is one that takes
madvise(MADV_WIPEONFORK) for a wish (before 8.0): a forked child finds its page as its parent had it."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from archive import Archive
from kernels import locked

BACKPORTS = ("bookworm-backports",)


@dataclass(frozen=True)
class Needed:
    """What an emulator has to be, and its packages; their libraries are those of this machine's QEMU."""
    since: tuple        # version
    packages: tuple
    firmware: bool      # whether it looks for any


EMULATORS = {
    "qemu-system-x86_64": Needed((8, 1), ("qemu-system-x86", "qemu-system-data", "seabios"), True),
    "qemu-system-aarch64": Needed((8, 1), ("qemu-system-arm", "qemu-system-data", "seabios"), True),
    "qemu-aarch64-static": Needed((8, 0), ("qemu-user-static", "qemu-user"), False),
}


class NoEmulator(Exception):
    """There is none to be had here. One sentence."""


@dataclass(frozen=True)
class Emulator:
    """How it is called, with the folders of its firmware, if it has any."""
    words: tuple


def version_in(said):
    """(8, 1) of 'QEMU emulator version 8.1.2 (Debian ...)'; (0, 0) of anything else."""
    found = re.search(r"version (\d+)\.(\d+)", said)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def version_of(program):
    try:
        return version_in(subprocess.run([str(program), "--version"], capture_output=True, text=True).stdout)
    except OSError:
        return (0, 0)


def _unpacked(name, cache, architecture):
    needed, home = EMULATORS[name], cache / name
    program = home / "usr" / "bin" / name
    with locked(cache / f"{name}.lock"):
        if not program.exists():
            archive = Archive(cache, BACKPORTS, architecture)
            archive.update()
            fresh = cache / f"{name}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            for package in needed.packages:
                archive.unpack(package, fresh)
            shutil.rmtree(home, ignore_errors=True)
            fresh.rename(home)
    if version_of(program) < needed.since:
        raise NoEmulator(f"{name} of Debian 12's backports does not run here: install QEMU "
                         f"{'.'.join(map(str, needed.since))} or newer")
    if not needed.firmware:
        return Emulator((str(program),))
    share = home / "usr" / "share"
    return Emulator((str(program), "-L", str(share / "qemu"), "-L", str(share / "seabios"), "-L", "/usr/share/qemu"))


def found(name, cache, architecture):
    """The emulator of that name. ArchiveError, NoEmulator: there is none."""
    here = shutil.which(name)
    if not here:
        raise NoEmulator(f"{name} is not installed")
    if version_of(here) >= EMULATORS[name].since:
        return Emulator((here,))
    return _unpacked(name, Path(cache), architecture)
