# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels of our own: Linux as Debian packages its source, with our locks and patches, in small configurations. One
source; a folder beside it for what each configuration makes of it."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from archive import Archive, ArchiveError
from kernels import Fetched

HERE = Path(__file__).resolve().parent
SUITE = "trixie-backports"
PACKAGE = "linux-source-7.*"
PATCHES = HERE / "patches"
SOURCE = "linux"
IMAGE = Path("arch") / "x86" / "boot" / "bzImage"
# What the tree gets beside the patches: where it belongs there, and under which name it is included.
FILES = {"kscl.h": Path("include") / "linux" / "kscl.h", "kscl.c": Path("kernel") / "locking" / "kscl.c"}
ESTIMATED_STEPS = 1500  # that make prints in this configuration
# The first that describes the functions which BPF programs call as this kernel needs it: with Debian 12's 1.24 the
# kernel has no sched_ext, since it can't register them.
PAHOLE = (1, 31)


@dataclass(frozen=True)
class Configuration:
    """What tinyconfig gets, in files of which a later one may take back what an earlier one says."""
    name: str
    files: tuple
    what: str

    @property
    def wanted(self):
        """The last line that says something of each option."""
        lines = [line for file in self.files for line in file.read_text().splitlines()]
        return {line.partition("=")[0]: line for line in lines if re.match(r"CONFIG_\w+=", line)}.values()


OWN = Configuration("own", (HERE / "config",), "with kernel/patches")
DEBUG = Configuration("debug", (HERE / "config", HERE / "config-debug"), "with kernel/patches, lockdep and KCSAN")


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
    """Takes out the patches of the last time, from the first that is another one today, and puts today's in: what the
    others change is left alone, and is not compiled anew."""
    applied = tree / ".applied"
    applied.mkdir(exist_ok=True)
    before, today = sorted(applied.glob("*.patch")), patches()
    same = 0
    while same < min(len(before), len(today)) and before[same].read_bytes() == today[same].read_bytes():
        same += 1
    for patch in reversed(before[same:]):
        _patch(tree, patch, "--reverse")
        patch.unlink()
    for patch in today[same:]:
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


def pahole_words(work):
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


def _configure(tree, made, configuration, pahole):
    """tinyconfig and what the configuration adds. An option that this kernel does not know, or refuses, is an error."""
    stamp = made / ".config-of"
    digest = " ".join([_digest(configuration.files), *pahole])
    if (made / ".config").exists() and stamp.exists() and stamp.read_text() == digest:
        return
    make = ["make", f"O={made}", *pahole]
    _run(*make, "tinyconfig", where=tree, what="tinyconfig failed")
    _run("scripts/kconfig/merge_config.sh", "-m", "-O", str(made), str(made / ".config"),
         *map(str, configuration.files), where=tree, what=f"the configuration '{configuration.name}' is refused")
    _run(*make, "olddefconfig", where=tree, what="olddefconfig failed")
    chosen = set((made / ".config").read_text().splitlines())
    refused = [line for line in configuration.wanted if line not in chosen and not line.endswith("=n")]
    if refused:
        raise NoKernel(f"this kernel does not take {', '.join(refused)}: see "
                       f"{', '.join(f'kernel/{file.name}' for file in configuration.files)}")
    stamp.write_text(digest)


def _compile(tree, made, log, pahole):
    compiler = "CC=ccache gcc" if shutil.which("ccache") else "CC=gcc"
    # modules: there are none, and the list of symbols that modules of ours are built with.
    command = ["make", f"O={made}", f"-j{len(os.sched_getaffinity(0))}", compiler, *pahole, "bzImage", "modules"]
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


def build(configuration, cache, work):
    """The kernel, built from what has changed since the last time."""
    work.mkdir(parents=True, exist_ok=True)
    tree, made = work / SOURCE, folder(configuration, work)
    try:
        if not tree.is_dir():
            _unpack(cache, tree)
    except (ArchiveError, OSError) as error:
        raise NoKernel(f"Linux's source can't be had: {error}") from error
    if (tree / ".config").exists(): # of a time when it was built where its source is
        _run("make", "mrproper", where=tree, what="what an older ./dev kernel has made could not be removed")
    _apply_patches(tree)
    _put_files(tree)
    pahole = pahole_words(work)
    made.mkdir(exist_ok=True)
    _configure(tree, made, configuration, pahole)
    _compile(tree, made, work / f"{configuration.name}.log", pahole)
    return built(configuration, work)


def complaints_of_style(work):
    """What the kernel's own checker says of what is ours."""
    said = []
    # Initializers use their argument twice, as those of the kernel's locks do. The words of a boot parameter's
    # documentation are lost to the checker behind an apostrophe.
    # Nobody maintains what was sent to nobody.
    check = ["scripts/checkpatch.pl", "--strict", "--no-signoff", "--no-summary", "--terse",
             "--ignore", "MACRO_ARG_REUSE,UNDOCUMENTED_SETUP,FILE_PATH_CHANGES"]
    for file in [*sorted(HERE.glob("*.[ch]")), *patches()]:
        # By its name a patch that git knows would be checked as a source file.
        what = ["-"] if file.suffix == ".patch" else ["--file", str(file)]
        with open(file, encoding="utf-8") as text:
            done = subprocess.run([*check, *what], cwd=work / SOURCE, stdin=text, capture_output=True, text=True,
                                  check=False)
        said += [f"{file.name}: {line}" for line in (done.stdout + done.stderr).splitlines()]
    return said


def folder(configuration, work):
    """What has been made of the source."""
    return work / configuration.name


def built(configuration, work):
    """The kernel of the last build, or None."""
    image = folder(configuration, work) / IMAGE
    if not image.exists():
        return None
    version = (work / SOURCE / ".debian-version").read_text()
    return Fetched(image, f"Linux {version} {configuration.what}", version)
