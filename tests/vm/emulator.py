# SPDX-License-Identifier: MIT OR Apache-2.0
"""QEMU: this machine's, or, where that is too old, Debian 12's backport of a newer one, unpacked into the cache.

Too old is one that divides a machine's time by its timers alone (before 8.1, with icount): the first virtual CPU runs
to the next timer, and the others get what it leaves. A kernel whose first CPU waits for another without a PAUSE hangs
then: Linux 6.1 when it starts its second CPU."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from archive import Archive
from kernels import locked

DIVIDES_TIME = (8, 1)
BACKPORTS = ("bookworm-backports",)
ALSO_NEEDED = ("qemu-system-data", "seabios")     # the firmware; libraries are those of this machine's QEMU
PACKAGES = {"qemu-system-x86_64": "qemu-system-x86", "qemu-system-aarch64": "qemu-system-arm"}


class NoEmulator(Exception):
    """There is none to be had here. One sentence."""


@dataclass(frozen=True)
class Emulator:
    """How it is called, with the folders of its firmware."""
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
    home = cache / name
    program = home / "usr" / "bin" / name
    with locked(cache / f"{name}.lock"):
        if not program.exists():
            archive = Archive(cache, BACKPORTS, architecture)
            archive.update()
            fresh = cache / f"{name}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            for package in (PACKAGES[name], *ALSO_NEEDED):
                archive.unpack(package, fresh)
            shutil.rmtree(home, ignore_errors=True)
            fresh.rename(home)
    if version_of(program) < DIVIDES_TIME:
        raise NoEmulator(f"{name} of Debian 12's backports does not run here: install QEMU 8.1 or newer")
    share = home / "usr" / "share"
    return Emulator((str(program), "-L", str(share / "qemu"), "-L", str(share / "seabios"), "-L", "/usr/share/qemu"))


def found(name, cache, architecture):
    """The emulator of that name. ArchiveError, NoEmulator: there is none."""
    here = shutil.which(name)
    if not here:
        raise NoEmulator(f"{name} is not installed")
    return Emulator((here,)) if version_of(here) >= DIVIDES_TIME else _unpacked(name, Path(cache), architecture)
