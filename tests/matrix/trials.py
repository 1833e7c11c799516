# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is tried in a suite's chroot: building there, and running there what was built here."""

import functools
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
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
    commit: str = ""  # of the sources that were tried

    def as_json(self):
        return asdict(self)


class Absent(Exception):
    """A suite does not have this file, in any package: its name."""


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
        """Configures and builds the target in build/matrix/SUITE/NAME, which goes on where it was interrupted; then
        comes a command of the shell."""
        self.begin(f"builds {target} with {name}")
        self.chroot.install([*self.packages("build"), *packages])
        tree = self.chroot.folder / name
        tree.mkdir(exist_ok=True)
        script = (f"cmake -S {self.source} -B {tree} -G Ninja {' '.join(settings)} && "
                  f"cmake --build {tree} -j {os.cpu_count()} --target {target}" +
                  (f" && {afterwards}" if afterwards else ""))
        status, printed = self.chroot.run(["sh", "-c", script], [self.source, self.chroot.folder], limit_s=5400,
                                          log=self.chroot.folder / f"{name}.log")
        warnings = sorted(set(re.findall(r"^\S*?([^/\s]+:\d+):\d+: warning: (.*)$", printed, re.MULTILINE)))
        if status:
            return failed(f"build {name}", f"status {status}: {first_error(printed)}")
        told = f"{len(warnings)} warnings: {warnings[0][0]}: {warnings[0][1]}" if warnings else "no warning"
        return Outcome(f"build {name}", not warnings, told)

    def build_product(self, gcc):
        number, installed = gcc.removeprefix("gcc-"), self.chroot.folder / gcc / "installed"
        return self.build_with(gcc, [f"-DCMAKE_C_COMPILER=gcc-{number}", f"-DCMAKE_CXX_COMPILER=g++-{number}"],
                               "product", [gcc, f"g++-{number}"],
                               f"cmake --install {self.chroot.folder / gcc} --prefix {installed} && "
                               f"{installed}/bin/holdfast --version")

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
        """The tests with the label posix, as ctest tells of them. ChrootError: some of them are not built."""
        listing = subprocess.run(["ctest", "--test-dir", self.build, "-L", "^posix$", "--show-only=json-v1"],
                                 capture_output=True, text=True, check=True).stdout
        tests, unbuilt = [], []
        for test in json.loads(listing)["tests"]:
            if (short and not SHORT.fullmatch(test["name"])) or "/soak/" in test["name"]:
                continue
            if "command" not in test:
                unbuilt.append(test["name"])
                continue
            properties = {each["name"]: each["value"] for each in test.get("properties", [])}
            tests.append((test["name"], test["command"], properties))
        if unbuilt:
            raise ChrootError(f"{len(unbuilt)} conformance tests, such as {unbuilt[0]}, are not built: cmake --build"
                              f" {self.build}")
        return tests

    def command(self):
        """The command that starts there: the one built here, or that of the newest compiler there; None without."""
        for build in (self.build, self.chroot.folder / self.suite.gccs[-1]):
            status, _ = self.chroot.run([build / "bin" / "holdfast", "--version"], [self.build, self.chroot.folder])
            if not status:
                return build / "bin" / "holdfast"
        return None

    def found_there(self, path):
        """Where a file of another package is there: in the same folder, or in that of its architecture. Absent: it has
        none."""
        ours = any(Path(path).is_relative_to(each) for each in (self.build, self.chroot.folder))
        if ours or (self.chroot.root / path.lstrip("/")).exists():
            return path
        found = next(self.chroot.root.glob(f"usr/lib/*-linux-gnu/{Path(path).name}"), None)
        if not found:
            raise Absent(Path(path).name)
        return f"/{found.relative_to(self.chroot.root)}"

    def libraries_there(self):
        """The names of libraries that programs find there: the suite's, and those built here."""
        return {each.name for folder, pattern in ((self.chroot.root / "usr", "lib*/*.so*"),
                                                  (self.chroot.root / "usr", "lib/*-linux-gnu/*.so*"),
                                                  (self.build, "**/*.so*")) for each in folder.glob(pattern)}

    def there(self, tests, ours, command):
        """The tests as they run there, and by what the suite lacks the names of those that can't."""
        known, runnable, absent = self.libraries_there(), [], {}
        for name, words, properties in tests:
            try:
                for program in words[words[0] == ours:]:
                    for library in needed_by(program) if Path(program).is_relative_to(self.build) else ():
                        if library not in known:
                            raise Absent(library)
                runnable.append((name, [command if words[0] == ours else self.found_there(words[0]), *words[1:]],
                                 self.environment_there(properties), properties.get("PASS_REGULAR_EXPRESSION")))
            except Absent as what:
                absent.setdefault(str(what), []).append(name)
        return runnable, absent

    def environment_there(self, properties):
        return [f"LD_PRELOAD={':'.join(map(self.found_there, setting[11:].split(':')))}"
                if setting.startswith("LD_PRELOAD=") else setting for setting in properties.get("ENVIRONMENT", [])]

    def run_test(self, test):
        name, command, environment, wanted = test
        status, printed = self.chroot.run(command, [self.build, self.chroot.folder], environment, 900)
        cases = sum(map(int, re.findall(r"^\[  PASSED  \] (\d+) test", printed, re.MULTILINE)))
        return name, verdict(status, printed, wanted), cases, printed

    def conformance(self, short):
        if not short:
            self.chroot.install(self.packages("conformance"))
        tests, ours, command = self.conformance_tests(short), str(self.build / "bin" / "holdfast"), self.command()
        if not tests:
            return failed("conformance", f"{self.build} has no tests with the label posix")
        left_out = [name for name, words, _ in tests if words[0] == ours] if not command else []
        tests, absent = self.there([test for test in tests if test[0] not in left_out], ours, command)
        self.begin(f"runs {len(tests)} conformance tests that were built here" + "".join(
            f"; left out, since no command starts there: {name}" for name in left_out) + "".join(
            f"; left out, since it has no {what}: {', '.join(names)}" for what, names in absent.items()))
        if not tests:
            return failed("conformance", f"{self.suite.name} has no {', '.join(absent) or 'command that starts'}")
        wrong, cases = [], 0
        with ThreadPoolExecutor(os.cpu_count() + 1) as at_once:
            for done, (name, why, passed, printed) in enumerate(at_once.map(self.run_test, tests), 1):
                cases += passed
                if why:
                    wrong.append(name)
                    (self.chroot.folder / f"{name.replace('/', '-')}.log").write_text(printed)
                    self.show(f"{self.suite.name}: {name} failed: {why}: {last_lines(printed)}")
                elif done % 25 == 0:
                    self.show(f"{self.suite.name}: {done} of {len(tests)} conformance tests")
        if wrong:
            return failed("conformance", f"{len(wrong)} of {len(tests)} failed: {', '.join(wrong[:5])}")
        return Outcome("conformance", True, f"{len(tests)} tests, {cases} cases" + (
            f"; left out without the command: {', '.join(left_out)}" if left_out else "") + "".join(
            f"; {len(names)} left out, since there is no {what}" for what, names in absent.items()))


@functools.cache
def needed_by(program):
    """The names of the libraries that a program is linked with; none, where it is no program."""
    if not Path(program).is_file():
        return ()
    said = subprocess.run(["readelf", "--dynamic", program], capture_output=True, text=True, check=False)
    return tuple(re.findall(r"\(NEEDED\).*\[(.*)\]", said.stdout))


def first_error(printed):
    """What a build says first of what went wrong; its last lines, where it names nothing."""
    found = re.search(r"^(?:.*/)?([^/\n]*(?:\berror: |undefined reference to ).*)$", printed, re.MULTILINE)
    return found[1] if found else last_lines(printed)


def verdict(status, printed, wanted):
    """Why a test has failed; "" if it has not. `wanted`: what ctest goes by instead of the status."""
    if "cannot be preloaded" in printed:
        return "a library was not loaded"
    if wanted:
        return "" if any(re.search(each, printed) for each in wanted) else f"does not say {wanted[0]!r}"
    return f"status {status}" if status else ""


def short_name(trial):
    """What people call it: a build by its compiler."""
    return trial.removeprefix("build ")


def names_of(suite):
    return set(map(short_name, of_suite(Laboratory(suite, None, None, None, None))))


def of_suite(laboratory, short=False, builds=True, runs=True, named=()):
    """The trials of a suite: their names, and what carries each out. `builds`: by its compilers; `runs`: of what was
    built here; of these those that are named, if any are."""
    suite = laboratory.suite
    gccs = suite.gccs[-1:] if short else suite.gccs[-1:] + suite.gccs[:-1]
    clangs = () if short else suite.clangs
    products = {f"build {each}": lambda each=each: laboratory.build_product(each) for each in gccs if builds}
    first = dict(list(products.items())[:1]) # some conformance tests run the command that it makes
    trials = first
    if runs:
        trials = {"exports": laboratory.exports, "objects": laboratory.whose_objects, **first,
                  "conformance": lambda: laboratory.conformance(short)}
    trials |= products
    if builds:
        trials |= {f"build {each}": lambda each=each: laboratory.build_bpf(each) for each in clangs}
    return {name: trial for name, trial in trials.items() if not named or short_name(name) in named}


def carry_out(trials, passed, commit=""):
    """Each, one after the other, but for those that have passed; what can't be made is a failure of its trial."""
    for name, trial in trials.items():
        if name in passed:
            yield passed[name]
            continue
        try:
            yield replace(trial(), commit=commit)
        except ChrootError as why:
            yield replace(failed(name, str(why)), commit=commit)


def keep(file, result):
    new = file.with_suffix(".part")
    new.write_text(json.dumps(result, indent=1) + "\n")
    new.rename(file)


def kept(file):
    """What a suite's run has left; nothing, where there was none."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return {"trials": []}


def passed_in(file, planned):
    """Of the trials planned, those that have passed, by name; none, where all of them have: a new run begins."""
    passed = {each["trial"]: Outcome(**each) for each in kept(file)["trials"] if each["passed"]}
    return {} if passed.keys() >= set(planned) else {name: passed[name] for name in planned if name in passed}


def with_others(file, result):
    """A result, and before it what the file tells of trials that are none of it."""
    names = {each["trial"] for each in result["trials"]}
    return {**result, "trials": [each for each in kept(file)["trials"] if each["trial"] not in names] +
            result["trials"]}


def kept_in(folder, suites):
    """What each suite's runs left, and which trials a full one has."""
    results = []
    for name, suite in suites.items():
        found = kept(Path(folder) / name / "result.json")
        results.append({"suite": name, "glibc": "", **found,
                        "planned": list(of_suite(Laboratory(suite, None, None, None, None)))})
    return results
