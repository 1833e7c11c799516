# SPDX-License-Identifier: MIT OR Apache-2.0
"""Our modules, built against the headers that Debian ships with a stock kernel. The headers are unpacked into the cache
of kernels; the machine's own apt and /usr/src never hear of them."""

import re
import shutil
import subprocess
from pathlib import Path

from archive import Archive, ArchiveError
from kernels import locked

HERE = Path(__file__).resolve().parent
SOURCES = ("Kbuild", "*.c", "*.h")


class NoModules(Exception):
    """They could not be built, and why. One sentence."""


def headers_package(package):
    """linux-image-VERSION or linux-binary-VERSION: its headers are in linux-headers-VERSION."""
    return re.sub(r"^linux-(image|binary)-", "linux-headers-", package)


def _packages(archive, package):
    """The headers' package and those of its own version that it needs: the common part, and the build's programs."""
    needed = archive.depends(package)
    return [package, *(name for name in needed if name.startswith(("linux-headers-", "linux-kbuild-")))]


def _unpack(kernel, fetched, cache, home):
    archive = Archive(cache, kernel.suites, kernel.architecture)
    archive.update()
    package = headers_package(fetched.package)
    unpacked = home.with_name(home.name + ".new")
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir(parents=True)
    for name in _packages(archive, package):
        archive.unpack(name, unpacked)
    # Debian's Makefile names the common part by where it is installed.
    makefile = unpacked / "usr" / "src" / package / "Makefile"
    makefile.write_text(makefile.read_text().replace("include /usr/src", f"include {home}/usr/src"))
    shutil.rmtree(home, ignore_errors=True)
    unpacked.rename(home)


def headers(kernel, fetched, cache):
    """The folder to give to make -C, for a kernel that tests/vm has fetched."""
    home = cache / "kernels" / kernel.name / f"headers-{fetched.version}"
    with locked(cache / "kernels" / kernel.name / "headers.lock"):
        if not home.is_dir():
            try:
                _unpack(kernel, fetched, cache, home)
            except (ArchiveError, OSError, subprocess.SubprocessError) as error:
                raise NoModules(f"the headers of {fetched.package} can't be had: {error}") from error
    return home / "usr" / "src" / headers_package(fetched.package)


def _copy_changed(target):
    target.mkdir(parents=True, exist_ok=True)
    for pattern in SOURCES:
        for source in HERE.glob(pattern):
            copy = target / source.name
            if not copy.exists() or copy.read_bytes() != source.read_bytes():
                shutil.copyfile(source, copy)


def build(headers_folder, work, words=()):
    """The modules' files, by name. Only what has changed is compiled. words: what make is told besides."""
    _copy_changed(work)
    done = subprocess.run(["make", "-C", str(headers_folder), f"M={work}", "KCFLAGS=-Werror", *words,
                           "modules"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise NoModules(f"the modules could not be built against {headers_folder}:\n{done.stdout}{done.stderr}")
    return sorted(work.glob("*.ko"))
