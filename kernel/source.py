# SPDX-License-Identifier: MIT OR Apache-2.0
"""A kernel of our own: Linux as Debian packages its source, with our locks and patches, in a small configuration."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from archive import Archive, ArchiveError
from kernels import Fetched

HERE = Path(__file__).resolve().parent
SUITE = "trixie-backports"
PACKAGE = "linux-source-7.*"
PATCHES = HERE / "patches"
CONFIG = HERE / "config"
IMAGE = Path("arch") / "x86" / "boot" / "bzImage"
# What the tree gets beside the patches: where it belongs there, and under which name it is included.
FILES = {"kscl.h": Path("include") / "linux" / "kscl.h", "kscl.c": Path("kernel") / "locking" / "kscl.c"}
ESTIMATED_STEPS = 1000  # that make prints in this configuration
# The first that describes the functions which BPF programs call as this kernel needs it: with Debian 12's 1.24 the
# kernel has no sched_ext, since it can't register them.
PAHOLE = (1, 31)


class NoKernel(Exception):
    """It could not be built, and why. One sentence, and what the failing program said."""


def _run(*command, where, what, **more):
    done = subprocess.run(command, cwd=where, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          **more)
    if done.returncode != 0:
        raise NoKernel(f"{what}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def patches():
    return sorted(PATCHES.glob("*.patch"))


def _unpack(cache, home):
    """The source as Debian has it: Debian's own patches are in it."""
    archive = Archive(cache, (SUITE,), "amd64")
    archive.update()
    package = archive.newest(PACKAGE)
    print(f"kernel: fetches {package} {archive.version(package)}", flush=True)
    part = home.with_name(home.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    (part / "tree").mkdir(parents=True)
    archive.unpack(package, part)
    packed = next(part.glob("usr/src/*.tar.xz"))
    print("kernel: unpacks it", flush=True)
    _run("tar", "-C", str(part / "tree"), "--strip-components=1", "-xf", str(packed), where=part,
         what=f"{packed.name} could not be unpacked")
    (part / "tree" / ".debian-version").write_text(archive.version(package))
    (part / "tree").rename(home)
    shutil.rmtree(part)


def _patch(tree, patch, *options):
    _run("patch", "-p1", "--batch", "--forward", "-i", str(patch), *options, where=tree,
         what=f"{patch.name} does not apply to this kernel")


def _digest(files):
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _apply_patches(tree):
    """Takes the patches of the last time out, and puts today's in: a file that stays the same is not compiled anew."""
    applied = tree / ".applied"
    applied.mkdir(exist_ok=True)
    before = sorted(applied.glob("*.patch"))
    if _digest(before) == _digest(patches()):
        return
    for patch in reversed(before):
        _patch(tree, patch, "--reverse")
        patch.unlink()
    for patch in patches():
        _patch(tree, patch)
        shutil.copyfile(patch, applied / patch.name)


def _put_files(tree):
    for name, target in FILES.items():
        text = (HERE / name).read_text().replace('#include "kscl.h"', "#include <linux/kscl.h>")
        file = tree / target
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def _pahole_version(pahole):
    said = subprocess.run([pahole, "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said))


def _pahole(work):
    """What make is told of pahole: nothing where the machine's own is new enough, else one of Debian's sid."""
    if shutil.which("pahole") and _pahole_version("pahole") >= PAHOLE:
        return []
    root, wrapper = work / "pahole", work / "pahole.sh"
    if not (root / "usr" / "bin" / "pahole").exists():
        print("kernel: fetches a newer pahole", flush=True)
    _run(str(HERE.parent / "tools" / "debian-root"), "sid", "amd64", str(root), "pahole", where=HERE.parent,
         what="pahole could not be fetched")
    libraries = root / "usr" / "lib" / "x86_64-linux-gnu"
    wrapper.write_text(f"#!/bin/sh\nexec '{libraries}/ld-linux-x86-64.so.2' --library-path '{libraries}' "
                       f"'{root}/usr/bin/pahole' \"$@\"\n")
    wrapper.chmod(0o755)
    return [f"PAHOLE={wrapper}"]


def _configure(tree, pahole):
    """tinyconfig and what kernel/config adds. An option that this kernel does not know, or refuses, is an error."""
    stamp = tree / ".config-of"
    digest = " ".join([_digest([CONFIG]), *pahole])
    if (tree / ".config").exists() and stamp.exists() and stamp.read_text() == digest:
        return
    _run("make", *pahole, "tinyconfig", where=tree, what="tinyconfig failed")
    _run("scripts/kconfig/merge_config.sh", "-m", ".config", str(CONFIG), where=tree, what="kernel/config is refused")
    _run("make", *pahole, "olddefconfig", where=tree, what="olddefconfig failed")
    chosen = set((tree / ".config").read_text().splitlines())
    wanted = [line for line in CONFIG.read_text().splitlines() if re.match(r"CONFIG_\w+=", line)]
    refused = [line for line in wanted if line not in chosen and not line.endswith("=n")]
    if refused:
        raise NoKernel(f"this kernel does not take {', '.join(refused)}: see kernel/config")
    stamp.write_text(digest)


def _compile(tree, log, pahole):
    compiler = "CC=ccache gcc" if shutil.which("ccache") else "CC=gcc"
    command = ["make", f"-j{os.cpu_count()}", compiler, *pahole, "bzImage"]
    steps, shows = 0, sys.stdout.isatty()
    with open(log, "w", encoding="utf-8") as said, subprocess.Popen(
            command, cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True) as make:
        for line in make.stdout:
            said.write(line)
            steps += 1
            if shows or steps % 200 == 0:
                percent = min(99, steps * 100 // ESTIMATED_STEPS)
                print(f"kernel: {percent:2d}% {line.strip()[:60]:<60}", end="\r" if shows else "\n", flush=True)
    if make.returncode != 0:
        raise NoKernel(f"it could not be compiled; the end of {log}:\n{''.join(log.read_text()[-3000:])}")


def build(cache, work):
    """The kernel, built from what has changed since the last time."""
    work.mkdir(parents=True, exist_ok=True)
    tree = work / "linux"
    try:
        if not tree.is_dir():
            _unpack(cache, tree)
    except (ArchiveError, OSError) as error:
        raise NoKernel(f"Linux's source can't be had: {error}") from error
    _apply_patches(tree)
    _put_files(tree)
    pahole = _pahole(work)
    _configure(tree, pahole)
    _compile(tree, work / "make.log", pahole)
    version = (tree / ".debian-version").read_text()
    return Fetched(tree / IMAGE, f"Linux {version} with kernel/patches", version)


def built(work):
    """The kernel of the last build, or None."""
    image = work / "linux" / IMAGE
    if not image.exists():
        return None
    version = (work / "linux" / ".debian-version").read_text()
    return Fetched(image, f"Linux {version} with kernel/patches", version)
