# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a guest reports, line by line (tests/vm/guest/init writes it), and what each of its tests comes to."""

import re
from dataclasses import dataclass, field

MARK = "#hf "
SKIPPED_STATUS = 77
TIMED_OUT_STATUS = 124
STOPPED = "was stopped"     # by people: nothing is wrong with the machine

GTEST_PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.")
GTEST_SKIPPED = re.compile(r"^\[  SKIPPED \] (\S+) \(\d+ ms\)")


@dataclass
class Result:
    """One command of the list."""
    name: str
    status: int = -1       # -1: the machine ended before the command did
    seconds: float = 0.0
    output: list = field(default_factory=list)

    @property
    def cases(self):
        """How many of GoogleTest's cases passed, or None where it is not such a test."""
        found = [int(match.group(1)) for match in map(GTEST_PASSED.match, self.output) if match]
        return sum(found) if found else None

    @property
    def skipped(self):
        """'CASE: WHY' for each case that skipped itself."""
        skipped, why = [], ""
        for line, following in zip(self.output, [*self.output[1:], ""]):
            if line.endswith(": Skipped"):
                why = following
            if match := GTEST_SKIPPED.match(line):
                skipped.append(f"{match.group(1)}: {why}" if why else match.group(1))
                why = ""
        return skipped

    @property
    def verdict(self):
        """'passed', or why not. A guest is root on a machine of its own: a test that skips itself has been refused."""
        if self.status == -1:
            return "not ended: the machine stopped"
        if self.status == TIMED_OUT_STATUS:
            return f"took longer than its limit ({self.seconds:.0f} s)"
        if self.status == SKIPPED_STATUS or (self.status == 0 and self.cases == 0):
            return "skipped itself: " + (self.skipped or self.output or ["it did not say why"])[0]
        if self.status > 128:
            return f"ended by signal {self.status - 128}"
        return "passed" if self.status == 0 else f"failed with status {self.status}"

    @property
    def passed(self):
        return self.verdict == "passed"


class Report:
    """Takes a guest's lines; knows what has ended and what is going on."""

    def __init__(self):
        self.release = ""
        self.cpus = 0
        self.results = []
        self.going_on = None
        self.done = False

    def take(self, line):
        """Takes one line; returns the result that ended with it, if one did."""
        if not line.startswith(MARK):
            if self.going_on:
                self.going_on.output.append(line)
            return None
        word, *rest = line[len(MARK):].split()
        if word == "kernel":
            self.release, self.cpus = rest[0], int(rest[1])
        elif word == "begin":
            self.going_on = Result(rest[0])
        elif word == "end" and self.going_on:
            ended, self.going_on = self.going_on, None
            ended.status, ended.seconds = int(rest[1]), float(rest[2])
            while ended.output and not ended.output[-1]:
                ended.output.pop()
            self.results.append(ended)
            return ended
        elif word == "done":
            self.done = True
        return None

    def stop(self):
        """The machine has ended. What was going on counts as not ended."""
        if self.going_on:
            self.results.append(self.going_on)
            self.going_on = None
