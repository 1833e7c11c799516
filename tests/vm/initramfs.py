# SPDX-License-Identifier: MIT OR Apache-2.0
"""The guest's root file system: an archive (cpio, "newc", uncompressed: that boots soonest) that the kernel unpacks
into memory. The build's programs, stripped, with the libraries that they name; busybox; an init.

A build and its guest have the same tree below /holdfast, so the command finds its libraries as it does at home. The
kernel unpacks archives that stand one behind the other: what a boot is to do is a second, small one."""

import os
import re
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Toolchain:
    """What differs by architecture: which strip knows its programs, and the folder of its libraries."""
    strip: str
    triplet: str

    def library_folders(self, build):
        """Here: the system's, and those that a cross build has been linked with, in BUILD-root."""
        roots = (f"{build}-root", "/")
        return [Path(root) / usr / "lib" / self.triplet for root in roots for usr in ("usr", "")] + [
            Path("/usr") / self.triplet / "lib"]

    @property
    def guest_libraries(self):
        return f"lib/{self.triplet}"


TOOLCHAINS = {
    "amd64": Toolchain("x86_64-linux-gnu-strip", "x86_64-linux-gnu"),
    "arm64": Toolchain("aarch64-linux-gnu-strip", "aarch64-linux-gnu"),
}


class Cpio:
    """Writes the archive. Folders come before what is in them, by themselves."""

    def __init__(self):
        self._parts = []
        self._made = set()
        self._number = 0

    def _entry(self, name, mode, content=b"", device=(0, 0), changed_s=0):
        self._number += 1
        name = os.fsencode(name)
        fields = [self._number, mode, 0, 0, 1, changed_s, len(content), 0, 0, *device, len(name) + 1, 0]
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name + b"\0"
        self._parts += [header, b"\0" * (-len(header) % 4), content, b"\0" * (-len(content) % 4)]

    def folder(self, name, mode=0o755):
        parts = Path(name).parts
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            if path not in self._made:
                self._made.add(path)
                self._entry(path, stat.S_IFDIR | (mode if count == len(parts) else 0o755))

    def file(self, name, content, mode=0o755):
        self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, content)

    def link(self, name, target):
        self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def character_device(self, name, major, minor):
        self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFCHR | 0o600, device=(major, minor))

    def as_it_is(self, name, path):
        """A folder without what is in it, a file or a link of this machine, with its rights and its time."""
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            content = os.fsencode(os.readlink(path))
        else:
            content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        self._entry(name, status.st_mode, content, changed_s=int(status.st_mtime))

    def taken(self):
        """What has been added since the last time."""
        whole = b"".join(self._parts)
        self._parts.clear()
        return whole

    def finished(self):
        self._entry("TRAILER!!!", 0)
        whole = self.taken()
        return whole + b"\0" * (-len(whole) % 512)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def dynamic_section(path):
    """(names of libraries, folders to look in, the dynamic linker or None) of a program of any architecture."""
    shown = subprocess.run(["readelf", "-d", "-l", "-W", str(path)], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\)\s+Shared library: \[(.*)\]", shown)
    folders = [folder for found in re.findall(r"\((?:RUNPATH|RPATH)\)\s+Library r\w*path: \[(.*)\]", shown)
               for folder in found.replace("$ORIGIN", str(path.parent)).split(":") if folder]
    linker = re.search(r"program interpreter: (.*)\]", shown)
    return needed, folders, linker.group(1) if linker else None


class Libraries:
    """The libraries that programs need, and theirs, found where the dynamic linker at home finds them."""

    def __init__(self, folders):
        self.folders = folders
        self.found = {}      # name: file
        self.linkers = set()

    def add_linker(self, path):
        """The dynamic linker: a library, too, whose place programs name."""
        name = os.path.basename(path)
        self.found.setdefault(name, self._look_for(name, [], path))
        return name

    def add_those_of(self, path):
        needed, folders, linker = dynamic_section(path)
        if linker:
            self.linkers.add(linker)
        for name in needed:
            if name not in self.found:
                self.found[name] = self._look_for(name, folders, path)
                self.add_those_of(self.found[name])

    def _look_for(self, name, folders, wanted_by):
        for folder in (*folders, *self.folders):
            if (file := Path(folder) / name).exists():
                return file.resolve()
        raise FileNotFoundError(f"{wanted_by} needs {name}, which is in none of its folders")


def stripped(path, toolchain, cache):
    """The program without what a debugger reads: a tenth of it is left. Kept, since few change between two boots."""
    status = path.stat()
    copy = cache / f"{path.name}-{status.st_size}-{status.st_mtime_ns}"
    if not copy.exists():
        for old in cache.glob(f"{path.name}-*-*"):
            old.unlink(missing_ok=True)
        fresh = cache / f".{path.name}.{os.getpid()}"
        subprocess.run([toolchain.strip, "-o", str(fresh), str(path)], check=True)
        fresh.rename(copy)
    return copy.read_bytes()


def root(build, programs, architecture, busybox, guest, cache):
    """The archive with these programs (paths below the build's folder), their libraries and the guest's init."""
    toolchain = TOOLCHAINS[architecture]
    cache.mkdir(parents=True, exist_ok=True)
    archive = Cpio()
    for name in ("bin", "dev", "proc", "sys", "run", "job", "etc", "var", "mnt"):
        archive.folder(name)
    archive.folder("tmp", 0o1777)
    archive.link("var/run", "/run")
    archive.link("var/tmp", "/tmp")
    archive.character_device("dev/console", 5, 1)
    archive.file("bin/busybox", busybox.read_bytes())
    archive.file("init", (guest / "init").read_bytes())
    archive.file("etc/passwd", b"root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n", 0o644)
    archive.file("etc/group", b"root:x:0:\nnogroup:x:65534:\n", 0o644)
    for script in sorted((guest / "bin").iterdir()):
        archive.file(f"bin/{script.name}", script.read_bytes())
    libraries = Libraries(toolchain.library_folders(build))
    for program in programs:
        path = build / program
        libraries.add_those_of(path)
        archive.file(f"holdfast/{program}", stripped(path, toolchain, cache))
    for linker in sorted(libraries.linkers):
        name = libraries.add_linker(linker)
        if os.path.dirname(linker).strip("/") != toolchain.guest_libraries:
            archive.link(linker.lstrip("/"), f"/{toolchain.guest_libraries}/{name}")
    for name, file in sorted(libraries.found.items()):
        archive.file(f"{toolchain.guest_libraries}/{name}", stripped(file, toolchain, cache))
    return archive.finished()


# Of a whole system, what a guest makes itself, and what none of its programs asks for.
NOT_OF_SYSTEM = ("proc", "sys", "dev", "run", "tmp", "var/cache/apt", "var/lib/apt/lists", "usr/share/doc",
                 "usr/share/locale", "usr/share/man")


def write_system(file, folder):
    """Writes an archive with the system that is in a folder, as /system. Its files belong to root."""
    archive = Cpio()
    archive.folder("system")
    for where, folders, names in os.walk(folder):
        below = Path(where).relative_to(folder)
        if str(below) in NOT_OF_SYSTEM:
            folders.clear()
            continue
        for name in sorted(folders + names):
            path = Path(where, name)
            if path.is_symlink() or path.is_dir() or path.is_file():
                archive.as_it_is(f"system/{below / name}", path)
        file.write(archive.taken())
    file.write(archive.finished())
