# SPDX-License-Identifier: MIT OR Apache-2.0
"""Virtual machines (tests/vm) that have our modules, or run the kernel that we build."""

import dataclasses
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "vm"))

import jobs
import kernels
import machine
import modules
import source
from initramfs import Cpio
from matrix import Laboratory, Plan

UNAVAILABLE_STATUS = 77
# Its headers come with programs that run on Debian 12, and are compiled for by Debian 12's own compiler.
STOCK_KERNEL = "6.1"
OWN_KERNEL = kernels.Kernel("own", "amd64", (), False, "kernel/patches", "the one that ./dev kernel builds")
WORK = ROOT / "build" / "kernel"


class WithModules(Laboratory):
    """Machines under a stock kernel that have our modules in /modules."""

    def initrd(self, plan, commands, shell=False):
        file = super().initrd(plan, commands, shell)
        _add_modules(file, modules.headers(plan.kernel, self.kernel(plan), self.cache),
                     self.work / "modules" / plan.kernel.name)
        return file


class WithOwnKernel(Laboratory):
    """Machines under the kernel of the last build of a configuration. words: what its command line gets, too; files:
    what the guest has besides, {its path there: its path here}."""

    def __init__(self, configuration, build, words="", with_modules=False, files=None, mips=machine.MIPS):
        super().__init__(ROOT, build)
        self.configuration = configuration
        self.with_modules = with_modules
        self.files = files or {}
        self.boards = {name: dataclasses.replace(board, words=words, mips=mips) for name, board in self.boards.items()}

    def initrd(self, plan, commands, shell=False):
        """A shell has what every guest has: nothing else need be built for it."""
        file = super().initrd(plan, [] if shell else commands, shell)
        if self.with_modules:
            _add_modules(file, source.folder(self.configuration, WORK), WORK / f"{self.configuration.name}-modules",
                         source.pahole_words(WORK))
        _add_files(file, self.files)
        return file

    def kernel(self, plan):
        found = source.built(self.configuration, WORK)
        if found is None:
            option = " --debug" if self.configuration is source.DEBUG else ""
            raise source.NoKernel(f"no such kernel has been built yet: ./dev kernel{option}")
        return found


def _add_files(initrd, files):
    archive = Cpio()
    for there, here in files.items():
        archive.file(there, here.read_bytes(), 0o644)
    with open(initrd, "ab") as archives:
        archives.write(archive.finished())


def _add_modules(initrd, headers, work, words=()):
    _add_files(initrd, {f"modules/{module.name}": module for module in modules.build(headers, work, words)})


def carry_out(laboratory, plan, line, show=print):
    """One command in a machine of its own. Returns its status."""
    try:
        outcome = laboratory.carry_out(plan, [jobs.by_hand(line)], show=show)
        said = outcome.unavailable or (outcome.trouble and f"the machine {outcome.trouble}")
        unavailable = bool(outcome.unavailable)
    except (modules.NoModules, source.NoKernel) as error:
        said, unavailable = str(error), True
    if said:
        print(f"kernel: {said}", file=sys.stderr)
        return UNAVAILABLE_STATUS if unavailable else 1
    return outcome.results[0].status


def plan(name, cpus):
    """The machine: one of ours for OWN_KERNEL's name. KeyError: there is no such kernel."""
    return Plan(OWN_KERNEL if name == OWN_KERNEL.name else kernels.chosen([name], kernels.listed())[0], cpus)
