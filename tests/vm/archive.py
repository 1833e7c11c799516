# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packages of any Debian suite and architecture, fetched with an apt of its own: own sources, lists and cache under one
folder. The machine's apt never hears of them. What is fetched is checked against the archive's keys as apt does it."""

import fnmatch
import os
import re
import subprocess
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MIRROR = os.environ.get("HF_VM_MIRROR", "http://deb.debian.org")


class ArchiveError(Exception):
    """What could not be fetched, and why. One sentence."""


def version_key(name):
    """Sorts names with numbers in them as people do: 6.1.0-9 before 6.1.0-50."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)]


def newest(names, pattern):
    """The newest of the names that match, or None."""
    return max(fnmatch.filter(names, pattern), key=version_key, default=None)


def source_line(suite):
    """apt's line for a suite. Its packages' names alone are read, not their descriptions or icons."""
    area = "debian-security" if suite.endswith("-security") else "debian"
    return f"deb [signed-by={KEYRING} target=Packages] {MIRROR}/{area} {suite} main\n"


class Archive:
    """One view of the archive: some suites, one architecture."""

    def __init__(self, folder, suites, architecture):
        self.suites = suites
        self.folder = Path(folder) / "apt" / f"{'+'.join(suites)}-{architecture}"
        self.config = self.folder / "apt.conf"
        self.downloads = Path(folder) / "downloads"
        for path in ("lists/partial", "cache/archives/partial"):
            (self.folder / path).mkdir(parents=True, exist_ok=True)
        self.downloads.mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        (self.folder / "sources.list").write_text("".join(map(source_line, suites)))
        self.config.write_text(
            f'Dir::Etc::sourcelist "{self.folder}/sources.list";\n'
            'Dir::Etc::sourceparts "/dev/null";\n'
            'Dir::Etc::preferencesparts "/dev/null";\n'
            f'Dir::State::Lists "{self.folder}/lists";\n'
            f'Dir::State::status "{self.folder}/status";\n'
            f'Dir::Cache "{self.folder}/cache";\n'
            f'APT::Architecture "{architecture}";\n'
            f'APT::Architectures {{ "{architecture}"; }};\n'
            'APT::Sandbox::User "";\n'
            'Acquire::Languages "none";\n'
            'Acquire::Retries "3";\n')

    def _apt(self, *command, where=None):
        done = subprocess.run(command, env={**os.environ, "APT_CONFIG": str(self.config)}, cwd=where, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.startswith(("E:", "W:"))]
            first = [line for line in said if "Failed to fetch" in line] + said[-1:] + [f"status {done.returncode}"]
            raise ArchiveError(f"{' '.join(command)} failed for {', '.join(self.suites)}: {first[0]}")
        return done.stdout

    def update(self):
        """Looks what the suites serve now."""
        try:
            self._apt("apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update")
        except ArchiveError as error:
            raise ArchiveError(f"Debian's archive can't be reached at {MIRROR}: {error}") from error

    def newest(self, pattern):
        """The newest package whose name matches."""
        found = newest(self._apt("apt-cache", "pkgnames").split(), pattern)
        if found is None:
            raise ArchiveError(f"{', '.join(self.suites)} serves no {pattern} any more")
        return found

    def version(self, package):
        """Its newest version."""
        shown = self._apt("apt-cache", "show", "--no-all-versions", package)
        return re.search(r"^Version: (.*)$", shown, re.MULTILINE).group(1)

    def depends(self, package):
        """The names of the packages that it depends on."""
        shown = self._apt("apt-cache", "show", "--no-all-versions", package)
        found = re.search(r"^Depends: (.*)$", shown, re.MULTILINE)
        return [one.split()[0] for one in found.group(1).split(", ")] if found else []

    def unpack(self, package, target):
        """Fetches a package and unpacks it into the folder target."""
        before = set(self.downloads.iterdir())
        self._apt("apt-get", "-q", "download", package, where=self.downloads)
        # apt-get download keeps a file that is whole and says nothing of its name.
        name = f"{package}_*.deb"
        files = sorted(set(self.downloads.glob(name)) - before) or sorted(
            self.downloads.glob(name), key=lambda path: path.stat().st_mtime)
        if not files:
            raise ArchiveError(f"apt-get download {package} left no file")
        done = subprocess.run(["dpkg", "-x", str(files[-1]), str(target)], capture_output=True, text=True)
        files[-1].unlink()
        if done.returncode != 0:
            raise ArchiveError(f"{files[-1].name} could not be unpacked: {done.stderr.strip()}")
