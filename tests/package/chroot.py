# SPDX-License-Identifier: MIT OR Apache-2.0
"""A small system of this machine's release of Debian, made once by debootstrap, and copies of it to spoil."""

import shutil
import subprocess
from pathlib import Path

TOOLS = "g++,cmake,make,pkg-config"

# Stands in for systemd's: keeps what it was told, and answers from what deb-systemd-helper did and from whether the
# service was started.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/var/log/systemctl
wanted=/etc/systemd/system/multi-user.target.wants/holdfast-monitor.service
case "$*" in
*preset*) ln -sf /lib/systemd/system/holdfast-monitor.service "$wanted" ;; # when it is installed first
*is-enabled*)
    if [ -e "$wanted" ]; then
        echo enabled
    else
        echo disabled
        exit 1
    fi ;;
*is-active*) [ -e /run/holdfast-is-active ] ;;
*" start "* | *" restart "*) touch /run/holdfast-is-active ;;
*stop*) rm -f /run/holdfast-is-active ;;
esac
"""

# Mounts of a namespace of its own: none outlasts the command. The machine's /sys has what a monitor needs.
MOUNTS = """set -e
mount -t proc proc "$0/proc"
mount --bind /dev "$0/dev"
mount --bind /sys "$0/sys"
[ ! -d /sys/fs/bpf ] || mount -t bpf bpf "$0/sys/fs/bpf"
exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \\
    $(env | grep -i '_proxy=' || true) sh -c "$1"
"""


def codename():
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.partition("=")[2]
    raise AssertionError("/etc/os-release names no release")


def base(directory):
    """The path of the system that is copied, which is made if it is not there."""
    made = directory / f"chroot-{codename()}"
    if not (made / "made").exists():
        shutil.rmtree(made, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={TOOLS}", codename(), made], check=True,
                       stdout=subprocess.DEVNULL)
        (made / "made").touch()
    return made


class Chroot:
    def __init__(self, root, origin):
        self.root = root
        subprocess.run(["cp", "-a", "--reflink=auto", origin, root], check=True)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        (root / "run/systemd/system").mkdir(parents=True)
        (root / "usr/bin/systemctl").write_text(SYSTEMCTL)
        (root / "usr/bin/systemctl").chmod(0o755)

    def run(self, command, status=0):
        """What the command printed. Fails unless it ends with that status."""
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", MOUNTS, self.root,
                               command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=900, check=False)
        assert done.returncode == status, f"{command}: ended with {done.returncode}\n{done.stdout}"
        return done.stdout

    def install(self, *packages):
        for package in packages:
            shutil.copy(package, self.root / "srv")
        names = " ".join(f"/srv/{package.name}" for package in packages)
        return self.run(f"apt-get install -y -q --no-install-recommends {names}")

    def told_systemd(self):
        """What systemctl was told to do since this was asked last, but for questions."""
        log = self.root / "var/log/systemctl"
        lines = log.read_text().splitlines() if log.exists() else []
        log.write_text("")
        return [line for line in lines if "is-enabled" not in line and "is-active" not in line]

    def files(self):
        """All files, but for what package managers keep for themselves."""
        skipped = ["var/lib/apt", "var/lib/dpkg", "var/cache", "var/log", "srv"]
        prune = " -o ".join(f"-path ./{path}" for path in skipped).split()
        found = subprocess.run(["find", ".", "-xdev", "(", *prune, ")", "-prune", "-o", "-print"], cwd=self.root,
                               check=True, capture_output=True, text=True)
        return set(found.stdout.splitlines())
