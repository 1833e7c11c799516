# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is tried in a suite's chroot: building there, and running there what was built here."""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from chroot import ChrootError, last_lines

KINDS = ["mutex", "cond", "rwlock", "spin", "barrier"]
# ./dev test runs these of the conformance tests there; ./dev matrix all.
SHORT = re.compile(r"posix/[^/]+/(glibc|flexguard|uscl)|posix/hooked/.*")


@dataclass
class Outcome:
    trial: str
    passed: bool
    detail: str

    def as_json(self):
        return asdict(self)


def failed(trial, why):
    return Outcome(trial, False, why)


class Laboratory:
    """One suite's chroot, the sources, and the build that is tried in there besides building."""

    def __init__(self, suite, chroot, source, build, show):
        self.suite, self.chroot, self.source, self.build, self.show = suite, chroot, source, build, show

    def begin(self, trial):
        self.show(f"{self.suite.name}: {trial}")

    # --- the C library

    def glibc(self):
        status, printed = self.chroot.run(["ldd", "--version"])
        found = re.search(r" (\d+\.\d+)$", printed.partition("\n")[0])
        if status or not found:
            raise ChrootError(f"{self.suite.name} does not say which glibc it has: {last_lines(printed)}")
        return found[1]

    def exports(self):
        self.begin("what its glibc exports")
        libraries = list(self.chroot.root.glob("usr/lib/*-linux-gnu/libc.so.6"))
        done = subprocess.run([self.source / "tools" / "list-exports", "--missing", *libraries], capture_output=True,
                              text=True, check=False)
        return Outcome("exports", done.returncode == 0, last_lines(done.stdout + done.stderr))

    # --- building there

    def packages(self, *groups):
        done = subprocess.run([self.source / "packaging" / "packages", "--for", self.suite.distribution, *groups],
                              capture_output=True, text=True, check=True)
        return done.stdout.split()

    def build_with(self, name, settings, target, packages, afterwards=None):
        """Configures and builds the target in build/matrix/SUITE/NAME, which goes on where it was interrupted; runs
        a command of the build then."""
        self.begin(f"builds {target} with {name}")
        self.chroot.install([*self.packages("build"), *packages])
        tree = self.chroot.folder / name
        tree.mkdir(exist_ok=True)
        script = (f"cmake -S {self.source} -B {tree} -G Ninja {' '.join(settings)} && "
                  f"cmake --build {tree} --target {target}" + (f" && {tree}/{afterwards}" if afterwards else ""))
        status, printed = self.chroot.run(["sh", "-c", script], [self.source, self.chroot.folder], limit_s=5400,
                                          log=self.chroot.folder / f"{name}.log")
        warnings = sorted(set(re.findall(r"^\S*?([^/\s]+:\d+):\d+: warning: (.*)$", printed, re.MULTILINE)))
        if status:
            return failed(f"build {name}", f"status {status}: {last_lines(printed)}")
        told = f"{len(warnings)} warnings: {warnings[0][0]}: {warnings[0][1]}" if warnings else "no warning"
        return Outcome(f"build {name}", not warnings, told)

    def build_product(self, gcc):
        number = gcc.removeprefix("gcc-")
        return self.build_with(gcc, [f"-DCMAKE_C_COMPILER=gcc-{number}", f"-DCMAKE_CXX_COMPILER=g++-{number}"],
                               "product", [gcc, f"g++-{number}"], "bin/holdfast --version")

    def build_bpf(self, clang):
        return self.build_with(clang, [f"-DHF_CLANG=/usr/bin/{clang}"], "hf_monitor", [clang])

    # --- running there what was built here

    def whose_objects(self):
        self.begin("whose objects are, under the interposer built here")
        status, printed = self.chroot.run([self.build / "tests" / "posix" / "posix_whose_objects"], [self.build],
                                          [f"LD_PRELOAD={self.build}/lib/libholdfast-preload.so"], 120)
        whose = dict(re.findall(r"^(\w+): (\w+)$", printed, re.MULTILINE))
        others = [kind for kind in KINDS if whose.get(kind) != "holdfast"]
        if status or others:
            return failed("objects", f"not Holdfast's: {', '.join(others)}; status {status}: {last_lines(printed)}")
        return Outcome("objects", True, "all are Holdfast's")

    def conformance_tests(self, short):
        """The tests with the label posix, as ctest tells of them."""
        listing = subprocess.run(["ctest", "--test-dir", self.build, "-L", "^posix$", "--show-only=json-v1"],
                                 capture_output=True, text=True, check=True).stdout
        tests = []
        for test in json.loads(listing)["tests"]:
            properties = {each["name"]: each["value"] for each in test.get("properties", [])}
            if "command" in test and (not short or SHORT.fullmatch(test["name"])) and "/soak/" not in test["name"]:
                tests.append((test["name"], test["command"], properties))
        return tests

    def run_test(self, test):
        name, command, properties = test
        status, printed = self.chroot.run(command, [self.build], properties.get("ENVIRONMENT", []), 900)
        cases = sum(map(int, re.findall(r"^\[  PASSED  \] (\d+) test", printed, re.MULTILINE)))
        return name, status, cases, printed

    def conformance(self, short):
        tests = self.conformance_tests(short)
        self.begin(f"runs {len(tests)} conformance tests that were built here")
        if not tests:
            return failed("conformance", f"{self.build} has no tests with the label posix: ./dev build release")
        wrong, cases = [], 0
        with ThreadPoolExecutor(os.cpu_count() + 1) as at_once:
            for done, (name, status, passed, printed) in enumerate(at_once.map(self.run_test, tests), 1):
                cases += passed
                if status:
                    wrong.append(name)
                    (self.chroot.folder / f"{name.replace('/', '-')}.log").write_text(printed)
                    self.show(f"{self.suite.name}: {name} failed with status {status}: {last_lines(printed)}")
                elif done % 25 == 0:
                    self.show(f"{self.suite.name}: {done} of {len(tests)} conformance tests")
        if wrong:
            return failed("conformance", f"{len(wrong)} of {len(tests)} failed: {', '.join(wrong[:5])}")
        return Outcome("conformance", True, f"{len(tests)} tests, {cases} cases")


def of_suite(laboratory, short, builds):
    """The trials of a suite: their names, and what carries each out."""
    suite = laboratory.suite
    gccs = suite.gccs[-1:] if short else suite.gccs[-1:] + suite.gccs[:-1]
    clangs = () if short else suite.clangs
    trials = {"exports": laboratory.exports, "objects": laboratory.whose_objects,
              "conformance": lambda: laboratory.conformance(short)}
    if builds:
        trials |= {f"build {each}": lambda each=each: laboratory.build_product(each) for each in gccs}
        trials |= {f"build {each}": lambda each=each: laboratory.build_bpf(each) for each in clangs}
    return trials


def carry_out(trials, passed):
    """Each, one after the other, but for those that have passed; what can't be made is a failure of its trial."""
    for name, trial in trials.items():
        if name in passed:
            yield passed[name]
            continue
        try:
            yield trial()
        except ChrootError as why:
            yield failed(name, str(why))


def keep(file, result):
    part = file.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1) + "\n")
    part.rename(file)


def passed_in(file):
    """The trials that have passed in a suite's run that was stopped or had failures: for each name, its outcome."""
    try:
        known = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    if known.get("over") and all(each["passed"] for each in known["trials"]):
        return {}
    return {each["trial"]: Outcome(**each) for each in known["trials"] if each["passed"]}


def kept_in(folder):
    """What the last run of each suite left."""
    return [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*/result.json"))]
