# SPDX-License-Identifier: MIT OR Apache-2.0
"""What QEMU's user emulation can't run, as commands for a virtual machine with a kernel for arm64."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "vm"))

from jobs import Command

KERNEL = "7.3-arm64"
LIMIT_S = 1800          # of the guest's time
EFFORT = "HOLDFAST_TEST_DIVISOR=10"     # tests/effort.hpp
LISTING_LIMIT_S = 300


@dataclass(frozen=True)
class LeftOut:
    """What emulation leaves out: cases of tests, whole tests; and tests that a machine can't run either."""
    cases: list
    tests: re.Pattern
    never: re.Pattern

    def out_of_emulation(self, name):
        """Whether the whole test is left out."""
        return bool(self.tests.fullmatch(name) or self.never.fullmatch(name))


def of_the_build(words):
    """A test's command without the emulator, which stands first with its root."""
    return list(words[3:] if Path(words[0]).name.startswith("qemu-") else words)


def has_cases(program):
    """Whether it is one of GoogleTest's."""
    return b"gtest_list_tests" in Path(program).read_bytes()


def cases_among(test, patterns):
    """How many of the test's cases these patterns name, as it says itself."""
    listed = subprocess.run([*test.command, "--gtest_list_tests"], capture_output=True, text=True, cwd=test.folder,
                            env={**os.environ, "GTEST_FILTER": ":".join(patterns)}, timeout=LISTING_LIMIT_S,
                            check=False)
    return sum(line.startswith("  ") for line in listed.stdout.splitlines())


def command(test, build, patterns):
    """The test in a guest, which has the build as /holdfast. `patterns`: cases; none: all."""
    words = [EFFORT, *test.environment, *([f"GTEST_FILTER={':'.join(patterns)}"] if patterns else ()),
             *of_the_build(test.command)]
    line = " ".join(f"'{word}'" for word in words).replace(f"{build}/", "/holdfast/")
    return Command(test.name, (), LIMIT_S, f"env {line}")


def commands(tests, left, build):
    """Those of the tests that are left out as a whole, and of those that are left out in part."""
    chosen = []
    for test in tests:
        program = of_the_build(test.command)[0]
        filtered = any(word.startswith("--gtest_filter") for word in test.command) # then it has no other
        if left.never.fullmatch(test.name):
            continue
        if left.tests.fullmatch(test.name):
            chosen.append(command(test, build, ()))
        elif not filtered and has_cases(program) and cases_among(test, left.cases):
            chosen.append(command(test, build, left.cases))
    return chosen
