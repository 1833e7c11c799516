# SPDX-License-Identifier: MIT OR Apache-2.0
"""The kernels of kernels.txt, and how one is had: from the cache, or from Debian's archive."""

import fcntl
import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from archive import Archive, ArchiveError

HERE = Path(__file__).resolve().parent
LIST = HERE / "kernels.txt"
LOOKS_AGAIN_AFTER_S = 24 * 3600  # what the archive serves changes every few weeks


@dataclass(frozen=True)
class Kernel:
    name: str
    architecture: str
    suites: tuple
    in_test: bool
    package: str
    stands_for: str


@dataclass(frozen=True)
class Fetched:
    """A kernel on this machine: where, and which exactly."""
    vmlinuz: Path
    package: str
    version: str
    warning: str = ""


def parse(text):
    """The kernels that a text like kernels.txt names."""
    kernels = []
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line:
            name, architecture, suites, test, package, stands_for = line.split(None, 5)
            kernels.append(Kernel(name, architecture, tuple(suites.split(",")), test != "-", package, stands_for))
    return kernels


def listed():
    return parse(LIST.read_text())


def chosen(names, kernels):
    """The kernels meant by names: their own, "all", or "test" for those of ./dev test."""
    by_name = {kernel.name: kernel for kernel in kernels}
    result = []
    for name in names:
        if name == "all":
            more = kernels
        elif name == "test":
            more = [kernel for kernel in kernels if kernel.in_test]
        elif name in by_name:
            more = [by_name[name]]
        else:
            raise KeyError(name)
        result += [kernel for kernel in more if kernel not in result]
    return result


def cache_folder(build):
    """HF_VM_CACHE, where kernels are kept for several trees, or build/vm."""
    folder = Path(os.environ.get("HF_VM_CACHE") or build / "vm").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def locked(path):
    """One at a time: several trees, or machines of one run, share a cache."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _recorded(record):
    try:
        known = json.loads(record.read_text())
    except (OSError, ValueError):
        return None, 0
    found = Fetched(record.parent / known["vmlinuz"], known["package"], known["version"])
    return (found, record.stat().st_mtime) if found.vmlinuz.is_file() else (None, 0)


def _vmlinuz_in(folder):
    """/boot/vmlinuz-VERSION up to 6.18, /usr/lib/modules/VERSION/vmlinuz from 6.19 on."""
    found = [path for pattern in ("boot/vmlinuz*", "usr/lib/modules/*/vmlinuz", "lib/modules/*/vmlinuz")
             for path in folder.glob(pattern)]
    if not found:
        raise ArchiveError(f"no vmlinuz in what {folder.name} was unpacked from")
    return found[0]


def _fetch(kernel, cache, record):
    archive = Archive(cache, kernel.suites, kernel.architecture)
    archive.update()
    package = archive.newest(kernel.package)
    version = archive.version(package)
    home = record.parent
    name = f"vmlinuz-{version}"
    if not (home / name).exists():
        unpacked = home / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir()
        archive.unpack(package, unpacked)
        vmlinuz = _vmlinuz_in(unpacked)
        shutil.move(vmlinuz, home / (name + ".new"))
        (home / (name + ".new")).rename(home / name)
        shutil.rmtree(unpacked)
    record.write_text(json.dumps({"vmlinuz": name, "package": package, "version": version}))
    return Fetched(home / name, package, version)


def fetch(kernel, cache, now=None):
    """The kernel's file. Looks into the archive once a day. Where that fails, the kernel of the last time serves."""
    home = cache / "kernels" / kernel.name
    home.mkdir(parents=True, exist_ok=True)
    record = home / "kernel.json"
    with locked(home / "lock"):
        known, looked = _recorded(record)
        if known and (now or time.time()) - looked < LOOKS_AGAIN_AFTER_S:
            return known
        try:
            return _fetch(kernel, cache, record)
        except (ArchiveError, OSError, subprocess.SubprocessError) as error:
            if not known:
                raise ArchiveError(str(error)) from error
            return Fetched(known.vmlinuz, known.package, known.version, f"of the last time, since {error}")
