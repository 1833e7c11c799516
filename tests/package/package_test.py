# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Debian packages of the release build: what they are made of, and that they can be installed, used, upgraded and
removed. The tests go on where the one before left the chroot.

Shown able to fail: a command that looks for the interposer in another directory than the package puts it (command); a
unit that nobody enables (install); a postinst that enables and restarts (upgrade).
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from chroot import Chroot, base

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD", ROOT / "build/release"))
WANTED = "etc/systemd/system/multi-user.target.wants/holdfast-monitor.service"


@pytest.fixture(scope="module", autouse=True)
def root_and_tools():
    missing = [tool for tool in ("debootstrap", "dpkg-buildpackage", "dh", "lintian") if not shutil.which(tool)]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root and debhelper, lintian, debootstrap; missing: {', '.join(missing) or 'root'}")


@pytest.fixture(scope="module")
def packages(root_and_tools, tmp_path_factory):
    """The path of each package, by its name. Made, and seen by lintian; or those in the directory PACKAGES."""
    if "PACKAGES" in os.environ:
        return {path.name.partition("_")[0]: path for path in Path(os.environ["PACKAGES"]).glob("*.deb")}
    out = tmp_path_factory.mktemp("packages")
    made = subprocess.run([ROOT / "packaging/build-packages", BUILD, out], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return {path.name.partition("_")[0]: path for path in out.glob("*.deb")}


@pytest.fixture(scope="module")
def system(root_and_tools, tmp_path_factory):
    cache = ROOT / "build/package"
    cache.mkdir(parents=True, exist_ok=True)
    return Chroot(tmp_path_factory.mktemp("system") / "root", base(cache))


@pytest.fixture(scope="module")
def before(system):
    return system.files()


def contents(package):
    listing = subprocess.run(["dpkg-deb", "-c", package], check=True, capture_output=True, text=True).stdout
    return [line.split()[5].removeprefix("./") for line in listing.splitlines()]


def field(package, name):
    return subprocess.run(["dpkg-deb", "-f", package, name], check=True, capture_output=True, text=True).stdout.strip()


def next_version(package, directory):
    """The same package with a higher version."""
    tree = directory / "next"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace("Version: 0.1.0", "Version: 0.1.0+next"))
    made = directory / "holdfast_0.1.0+next_next.deb"
    subprocess.run(["dpkg-deb", "-b", tree, made], check=True, stdout=subprocess.DEVNULL)
    return made


def test_packages_are_split_for_servers_and_developers(packages):
    assert {"holdfast", "libholdfast0", "libholdfast-dev", "libholdfast-coro-dev", "libholdfast-fiber-dev",
            "holdfast-bench", "holdfast-dbgsym"} <= set(packages)
    assert packages["holdfast"].stat().st_size < 3_000_000
    assert not any("libexec" in name or "include" in name for name in contents(packages["holdfast"]))
    for name in ("leveldb", "rocksdb", "kyotocabinet"):
        assert name not in field(packages["holdfast"], "Depends")
    for name in ("coro", "fibers"):
        assert f"/holdfast/{name}" not in "".join(contents(packages["libholdfast-dev"]))
    assert any("holdfast/fibers/mutex.hpp" in name for name in contents(packages["libholdfast-fiber-dev"]))
    assert "libboost-fiber-dev" in field(packages["libholdfast-fiber-dev"], "Depends")


def test_install_enables_and_starts_the_service(system, before, packages):
    assert before
    system.install(packages["holdfast"])
    assert (system.root / WANTED).is_symlink()
    assert any("start holdfast-monitor.service" in line for line in system.told_systemd())
    unit = system.root / "usr/lib/systemd/system/holdfast-monitor.service"
    assert "ExecStart=/usr/bin/holdfast monitor" in unit.read_text()


def test_command_works(system):
    assert "holdfast 0.1.0" in system.run("holdfast --version")
    said = system.run("holdfast doctor; echo ended with $?")
    assert "ended with 0" in said or "ended with 1" in said, said
    system.run("holdfast run -- true")
    assert "holdfast-bench" in system.run("holdfast bench shared-memory", status=125)


def test_upgrade_leaves_a_disabled_service_alone(system, packages, tmp_path):
    (system.root / WANTED).unlink()  # what 'systemctl disable --now' leaves
    (system.root / "run/holdfast-is-active").unlink()
    system.told_systemd()
    system.install(next_version(packages["holdfast"], tmp_path))
    assert not (system.root / WANTED).is_symlink()
    told = system.told_systemd()
    assert not [line for line in told if "enable" in line or "start holdfast" in line], told


def test_programs_are_built_with_the_development_packages(system, packages):
    system.install(packages["libholdfast0"], packages["libholdfast-dev"], packages["libholdfast-coro-dev"],
                   packages["libholdfast-fiber-dev"])
    shutil.copytree(ROOT / "tests/package/project", system.root / "srv/project")
    shutil.copy(ROOT / "tests/coro/by_itself/user.cpp", system.root / "srv/project/coro.cpp")
    system.run("cd /srv/project && cc -std=c11 user.c $(pkg-config --cflags --libs holdfast) -o user && ./user")
    assert "libholdfast.so.0" in system.run("ldd /srv/project/user")
    system.run("cd /srv/project && cmake -B build && cmake --build build && "
               "build/shared && build/static && build/coro")
    assert "HOLDFAST_0.1" in system.run("strings -a /srv/project/user")
    shutil.copytree(ROOT / "tests/fiber/by_itself", system.root / "srv/fibers")
    system.run("cd /srv && cmake -S fibers -B fibers-built && cmake --build fibers-built && fibers-built/holdfast")


def test_purge_leaves_nothing(system, before, packages):
    names = [name for name in packages if not name.endswith("-dbgsym") and name != "holdfast-bench"]
    system.run(f"apt-get purge -y -q {' '.join(names)}")
    system.run("apt-get autoremove --purge -y -q")
    left = {name for name in system.files() - before if "holdfast" in name}
    assert not left
