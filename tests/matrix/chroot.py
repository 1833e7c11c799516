# SPDX-License-Identifier: MIT OR Apache-2.0
"""A suite of Debian in a folder of its own.

What runs in it has namespaces of its own for mounts and processes: when it ends, in whatever way, the kernel takes its
mounts and processes away, so there is nothing to leave behind.
"""

import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"


TIMED_OUT_STATUS = 124
# Mounts and processes of its own, all gone when it ends, which it does when this process ends, in whatever way. (A
# terminal's Ctrl-C alone does not end it: the first process of a namespace ignores that.)
ALONE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"]


class ChrootError(Exception):
    """What could not be made, and why. One sentence."""


def run_logged(command, log, what):
    with open(log, "a", encoding="utf-8") as output:
        try:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                    check=False).returncode
        except FileNotFoundError as missing:
            raise ChrootError(f"{what} needs the program {missing.filename}: install its package") from missing
    if status != 0:
        raise ChrootError(f"{what} failed with status {status}: see {log}")


class Chroot:
    """`cache` keeps the suite as debootstrap made it, in one file; `folder` has the one that is worked in."""

    def __init__(self, suite, folder):
        self.suite = suite
        self.folder = Path(folder) / suite
        self.root = self.folder / "root"
        self.cache = Path(folder) / f"{suite}.tar"
        self.log = self.folder / "chroot.log"
        self.has_packages = self.root / "etc" / "holdfast-packages"

    def make(self):
        """Does nothing where that is done. Interrupted, it begins again where it was."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.cache.exists():
            fresh, part = self.folder / "fresh", self.cache.with_suffix(".part")
            shutil.rmtree(fresh, ignore_errors=True)
            run_logged([*ALONE, "--mount-proc", "debootstrap", "--variant=minbase", self.suite, str(fresh), MIRROR],
                       self.log, f"debootstrap of {self.suite}")
            run_logged(["tar", "-C", str(fresh), "-cf", str(part), "."], self.log, f"packing {self.suite}")
            part.rename(self.cache)
            shutil.rmtree(fresh)
        if not self.root.exists():
            part = self.folder / "root.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            run_logged(["tar", "-C", str(part), "-xf", str(self.cache)], self.log, f"unpacking {self.suite}")
            part.rename(self.root)

    def inside(self, command, binds=(), environment=()):
        """The command line that runs this one in there; folders of `binds` are seen under the names that they have."""
        root = shlex.quote(str(self.root))
        script = ["set -e", f"mkdir -p {root}/proc {root}/dev", f"mount --rbind /dev {root}/dev",
                  f"mount -t proc proc {root}/proc", f"mount -t tmpfs tmpfs {root}/run",
                  f"cp /etc/resolv.conf {root}/etc/resolv.conf"]
        for each in map(shlex.quote, map(str, binds)):
            script += [f"mkdir -p {root}{each}", f"mount --rbind {each} {root}{each}"]
        settings = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/", *environment]
        where = str(binds[0]) if binds else "/"
        script.append("exec " + shlex.join(["chroot", str(self.root), *settings, "sh", "-c",
                                            f"cd {shlex.quote(where)} && exec " + shlex.join(map(str, command))]))
        return [*ALONE, "sh", "-c", "\n".join(script)]

    def install(self, packages):
        """Packages that are not there yet."""
        known = set(self.has_packages.read_text().split()) if self.has_packages.exists() else set()
        wanted = sorted(set(packages) - known)
        if not wanted:
            return
        apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "Acquire::Retries=3", *age_of_lists()]
        run_logged(self.inside([*apt, "update"]), self.log, f"apt-get update in {self.suite}")
        run_logged(self.inside([*apt, "install", "-y", "--no-install-recommends", *wanted]), self.log,
                   f"installing {' '.join(wanted)} in {self.suite}")
        self.has_packages.write_text("\n".join(sorted(known | set(wanted))) + "\n")

    def run(self, command, binds=(), environment=(), limit_s=3600, log=None):
        """(status, what it printed, which is in `log` meanwhile); 124 when it took longer than its limit."""
        with open(log, "w+", encoding="utf-8", errors="replace") if log else tempfile.TemporaryFile(
                "w+", encoding="utf-8", errors="replace") as output:
            with subprocess.Popen(self.inside(command, binds, environment), stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT) as process:
                try:
                    status = process.wait(timeout=limit_s)
                except subprocess.TimeoutExpired:
                    process.kill()  # unshare takes what it has started with it
                    status = TIMED_OUT_STATUS
                except BaseException:
                    process.kill()
                    raise
            output.seek(0)
            return status, output.read()


def age_of_lists():
    """This machine's own setting, which allows old lists where its mirror is a snapshot."""
    said = subprocess.run(["apt-config", "dump", "--format", "%f=%v%n", "Acquire::Check-Valid-Until"],
                          capture_output=True, text=True, check=False)
    return [word for setting in said.stdout.split() for word in ("-o", setting)]


def last_lines(text, count=3):
    return " / ".join(line.strip() for line in text.splitlines()[-count:] if line.strip())
