# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels by numbers of CPUs, and what came of each: fetches, builds the guest's file system, boots, boots again."""

import json
import os
import platform
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "platforms"))

import emulator
import initramfs
import jobs
import kernels
import machine
import part
from archive import Archive, ArchiveError
from report import STOPPED, Result

HERE = Path(__file__).resolve().parent
TRIES = 2
MEMORY_MIB = 2048
SYSTEM_MEMORY_MIB = 8192 # of a guest that has a whole system in it
PROGRAM_FOLDERS = ("bin", "tests", "tests/posix", "libexec/holdfast")
ALWAYS = ("bin/holdfast", "lib/libholdfast-preload.so")
OWN_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
BUILDS = {OWN_ARCHITECTURE: "release", "arm64": "arm64"} if OWN_ARCHITECTURE != "arm64" else {"arm64": "release"}


@dataclass(frozen=True)
class Plan:
    kernel: kernels.Kernel
    cpus: int

    @property
    def name(self):
        return self.kernel.name if self.cpus == 2 else f"{self.kernel.name}/{self.cpus}"


@dataclass
class Outcome:
    """What came of a plan."""
    plan: Plan
    version: str = ""
    package: str = ""
    release: str = ""
    results: list = field(default_factory=list)
    trouble: str = ""       # what went wrong with the machine
    unavailable: str = ""   # why there was none
    boots: int = 0

    @property
    def passed(self):
        return bool(self.results) and not self.trouble and not self.unavailable and all(
            result.passed for result in self.results)

    @property
    def wrong(self):
        """A sentence for each thing that is wrong."""
        said = [self.unavailable] if self.unavailable else [f"the machine {self.trouble}"] if self.trouble else []
        return said + [f"{result.name} {result.verdict}" for result in self.results if not result.passed]

    def as_json(self, **more):
        return {
            **more, "kernel": self.plan.kernel.name, "architecture": self.plan.kernel.architecture,
            "cpus": self.plan.cpus,
            "stands_for": self.plan.kernel.stands_for, "package": self.package, "version": self.version,
            "release": self.release, "passed": self.passed, "trouble": self.trouble, "unavailable": self.unavailable,
            "boots": self.boots,
            "tests": [{"name": result.name, "verdict": result.verdict, "status": result.status,
                       "seconds": result.seconds, "cases": result.cases, "skipped": result.skipped,
                       "output": result.output}
                      for result in self.results]}


def words_of(text):
    """What may be the name of a program in a shell's text."""
    return set(re.findall(r"[\w.+-]+", text))


class Unavailable(Exception):
    """There is no such machine to be had here. One sentence."""


class Laboratory:
    """Where machines are made from: a build, a cache of kernels."""

    def __init__(self, root, build=None, system=None):
        """`system`: a folder with a whole system, which guests have as /system."""
        self.root = root
        self.system = system
        self.commit = part.commit_of(root)  # of the build, whatever becomes of the sources meanwhile
        self.work = root / "build" / "vm"
        self.work.mkdir(parents=True, exist_ok=True)
        self.cache = kernels.cache_folder(root / "build")
        self.build = build
        self.boards = machine.BOARDS
        self.making = threading.Lock()
        for left in self.work.glob("initrd-*"): # by a run that was killed
            if not Path("/proc", left.name.rpartition("-")[2]).exists():
                left.unlink(missing_ok=True)

    def build_for(self, architecture):
        if self.build and architecture == OWN_ARCHITECTURE:
            return self.build.resolve()
        return (self.root / "build" / BUILDS.get(architecture, architecture)).resolve()

    def programs(self, build, commands):
        """The build's files that commands, or scripts that they name, name; and those that each guest has."""
        wanted = dict.fromkeys(ALWAYS)
        words = words_of("\n".join(command.line for command in commands))
        scripts = [HERE / "guest" / "bin" / word for word in words]
        for word in words.union(*(words_of(script.read_text()) for script in scripts if script.is_file())):
            for folder in PROGRAM_FOLDERS:
                if (build / folder / word).is_file():
                    wanted[f"{folder}/{word}"] = None
        for name in wanted:
            if not (build / name).is_file():
                raise Unavailable(f"{build / name} is not built")
        found = {Path(name).name for name in wanted}.union(script.name for script in scripts if script.is_file())
        for command in commands:
            if command.groups and (program := command.line.split()[0]) not in found:
                raise Unavailable(f"{program}, of the test '{command.name}', is not built in {build}")
        return sorted(wanted)

    def busybox(self, architecture):
        """Debian's busybox-static: installed for this machine's architecture, fetched for another."""
        if architecture == OWN_ARCHITECTURE:
            return Path("/bin/busybox")
        home = self.cache / f"busybox-{architecture}"
        with kernels.locked(self.cache / f"busybox-{architecture}.lock"):
            if not (home / "bin" / "busybox").exists():
                archive = Archive(self.cache, ("bookworm",), architecture)
                archive.update()
                archive.unpack("busybox-static", home)
        return home / "bin" / "busybox"

    def initrd(self, plan, commands, shell=False):
        """The file to boot with. The caller removes it."""
        architecture = plan.kernel.architecture
        build = self.build_for(architecture)
        with self.making: # one at a time: they share stripped copies
            root = initramfs.root(build, self.programs(build, commands), architecture, self.busybox(architecture),
                                  HERE / "guest", self.work / "stripped" / architecture)
        file = self.work / f"initrd-{plan.name.replace('/', '-')}-{os.getpid()}"
        with open(file, "wb") as whole:
            if self.system:
                initramfs.write_system(whole, self.system)
            whole.write(root + jobs.archive(commands, self.boards[architecture].port, shell))
        return file

    @property
    def memory_mib(self):
        return SYSTEM_MEMORY_MIB if self.system else MEMORY_MIB

    def emulator_for(self, plan):
        name = self.boards[plan.kernel.architecture].emulator
        try:
            return emulator.found(name, self.cache, OWN_ARCHITECTURE)
        except emulator.NoEmulator as error:
            raise Unavailable(str(error)) from error
        except ArchiveError as error:
            raise Unavailable(f"{name} is too old here, and no newer one to be had: {error}") from error

    def kernel(self, plan):
        try:
            return kernels.fetch(plan.kernel, self.cache)
        except ArchiveError as error:
            raise Unavailable(f"no kernel to be had: {error}") from error

    def carry_out(self, plan, commands, show=lambda text: None, ended=lambda result: None, before=()):
        """Boots, once more for what is left if the machine gave no exit status. show gets the tests' own lines.
        `before`: results of other commands, of a run that was stopped."""
        outcome = Outcome(plan, results=list(before))
        known = len(outcome.results)
        try:
            by = self.emulator_for(plan)
            fetched = self.kernel(plan)
            outcome.version, outcome.package = fetched.version, fetched.package
            for attempt in range(TRIES):
                outcome.boots += 1
                ending = self._boot(plan, by, fetched, commands[len(outcome.results) - known:], attempt, show, ended)
                outcome.release = ending.report.release or outcome.release
                complete = [result for result in ending.report.results if result.status != -1]
                outcome.results += complete
                outcome.trouble = ending.trouble
                if not ending.trouble:
                    break
                if attempt + 1 == TRIES:
                    outcome.results += [result for result in ending.report.results if result.status == -1]
                else:
                    show(f"the machine {ending.trouble}; it boots again")
        except (Unavailable, FileNotFoundError) as error:
            outcome.unavailable = str(error)
        return outcome

    def _boot(self, plan, by, fetched, commands, attempt, show, ended):
        board = self.boards[plan.kernel.architecture]

        def on_line(line, result):
            if result:
                ended(result)
            elif not line.startswith(machine.MARK):
                show(line)

        file = self.initrd(plan, commands)
        try:
            return machine.boot(by, board, fetched.vmlinuz, file, plan.cpus, self.memory_mib,
                                self.console_log(plan, attempt),
                                {command.name: command.limit_s for command in commands}, on_line)
        finally:
            file.unlink(missing_ok=True)

    def console_log(self, plan, attempt):
        """What the kernel says on its console goes there."""
        return self.work / f"console-{plan.name.replace('/', '-')}-{attempt + 1}.log"

    def _kept_in(self, plan):
        return self.work / "results" / f"{plan.name.replace('/', '-')}.json"

    def keep(self, outcome, run):
        """Leaves what came of a list, or of some of its tests, for the page, and for a run that goes on: beside what
        others of the list came to in the same run."""
        before = self.kept([outcome.plan])[0]
        new = outcome.as_json(run=run)
        if before["run"] == run:
            names, ran = {test["name"] for test in new["tests"]}, {test["name"]: test for test in before["tests"]}
            for test in new["tests"]:
                commit_before = {"commit": ran.get(test["name"], {}).get("commit")}
                if {**test, **commit_before} == ran.get(test["name"]): # it has not run again
                    test |= commit_before
            new["tests"] = [test for test in before["tests"] if test["name"] not in names] + new["tests"]
            new |= {key: new[key] or before[key] for key in ("version", "package", "release", "boots")}
        for test in new["tests"]:
            test.setdefault("commit", self.commit)
        order = [command.name for command in jobs.for_machine(outcome.plan.cpus, [], jobs.listed())]
        if not new["trouble"] and not {test["name"] for test in new["tests"]}.issuperset(order):
            new["trouble"] = STOPPED
        new["passed"] = not new["trouble"] and all(test["verdict"] == "passed" for test in new["tests"])
        file = self._kept_in(outcome.plan)
        file.parent.mkdir(exist_ok=True)
        written = file.with_suffix(".part")
        written.write_text(json.dumps(new, indent=1) + "\n")
        written.rename(file)

    def kept(self, plans):
        """What the last full list of each came to."""
        found = []
        for plan in plans:
            try:
                found.append(json.loads(self._kept_in(plan).read_text()))
            except (OSError, ValueError):
                found.append(Outcome(plan, unavailable="not run yet").as_json(run=0))
        return found

    def stopped_run(self, plans):
        """The run of all these plans that was stopped, and what has passed in it: for each plan, a list of results. A
        new run, where the last one came to its end."""
        kept = self.kept(plans)
        run = self.run_of(plans)
        if all(machine["run"] == run and machine["passed"] for machine in kept):
            return time.time_ns(), {}
        return run, {plan: [Result(test["name"], test["status"], test["seconds"], test["output"])
                            for test in machine["tests"] if test["verdict"] == "passed"]
                     for plan, machine in zip(plans, kept) if machine["run"] == run}

    def run_of(self, plans):
        """The run that results of these plans belong to, so that one that is had anew takes its place in it."""
        return max(machine["run"] for machine in self.kept(plans)) or time.time_ns()

    def outcome_kept(self, plan, results):
        """What a run that was stopped left of a machine that had done all."""
        known = self.kept([plan])[0]
        return Outcome(plan, known["version"], known["package"], known["release"], results, boots=known["boots"])

    def interact(self, plan):
        by = self.emulator_for(plan)
        fetched = self.kernel(plan)
        board = self.boards[plan.kernel.architecture]
        file = self.initrd(plan, jobs.listed(), shell=True)
        try:
            return machine.interact(by, board, fetched.vmlinuz, file, plan.cpus, self.memory_mib)
        finally:
            file.unlink(missing_ok=True)


def run_all(laboratory, plans, names, at_once, passed=None, keep=lambda outcome: None):
    """Carries out the plans, some at the same time, and says how each test ends as it does. `passed`: results of a run
    that was stopped, for each plan. keep gets what has come of a plan so far, whenever one of its tests has ended."""
    speaking = threading.Lock()

    def say(plan, text):
        with speaking:
            print(f"{plan.name:<10} {text}", flush=True)

    def one(plan):
        commands = jobs.for_machine(plan.cpus, names, jobs.listed())
        before = (passed or {}).get(plan, [])
        known = {result.name for result in before}
        left = [command for command in commands if command.name not in known]
        done, at_first = list(before), len(commands) - len(left)
        if at_first:
            say(plan, f"{at_first} of {len(commands)} tests have passed in this run, which was stopped")
            if not left:
                return laboratory.outcome_kept(plan, before)

        def ended(result):
            done.append(result)
            number = at_first + len(done) - len(before)
            say(plan, f"[{number}/{len(commands)}] {result.name:<12} {result.verdict}, {result.seconds:.1f} s")
            if not result.passed:
                with speaking:
                    print("\n".join(f"{plan.name:<10} | {line}" for line in result.output), flush=True)
            keep(Outcome(plan, results=list(done), trouble=STOPPED))

        say(plan, f"boots {plan.kernel.package} with {plan.cpus} CPUs")
        outcome = laboratory.carry_out(
            plan, left, show=lambda text: text.startswith("the machine ") and say(plan, text), ended=ended,
            before=before)
        if outcome.trouble or outcome.unavailable:
            say(plan, outcome.wrong[0])
            _show_console(laboratory, outcome, say)
        if not outcome.unavailable:
            keep(outcome)
        return outcome

    with ThreadPoolExecutor(max(1, at_once)) as pool:
        return list(pool.map(one, plans))


def _show_console(laboratory, outcome, say, lines=25):
    log = laboratory.console_log(outcome.plan, max(0, outcome.boots - 1))
    if outcome.trouble and log.exists():
        for line in log.read_text(errors="replace").splitlines()[-lines:]:
            say(outcome.plan, f"| {line}")
