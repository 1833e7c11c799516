# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part of docs/platforms.md that is about kernels: kernel by what works. Made of what the last full run of each
machine left in build/vm/results; what has not been tried here is as the page had it."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "platforms"))

import jobs
import part
from part import Cell, not_tried, plain
from report import STOPPED

BEGIN = "<!-- kernels: written by ./dev vm all -->"
KEYS = ("kernel", "CPUs")

# Column: the tests that have to pass for a "yes".
COLUMNS = {
    "monitor": ("doctor", "monitor", "server", "absences", "storm", "shared_cpu"),
    "its count": ("count", "count_few"),
    "each instruction": ("single_step",),
    "scopes": ("scopes",),
    "quota": ("quota",),
    "futex view": ("futex_watch", "wait_watch"),
    "service": ("service", "restart"),
    "statistics": ("statistics",),
    "run": ("run", "commit_limit"),
    "soak": ("soak",),
    "oversubscription": ("oversub", "oversub_nice", "oversub_cpus"),
}

# Column: what 'holdfast doctor --json' calls it. The kernel has it or not; no test of ours fails without it.
OFFERS = {"time-slice extension": "slice_extension", "sched_ext": "sched_ext"}


def skips(cases):
    """A remark for each reason that cases ("CASE: WHY") have to skip themselves: a dozen may have the same."""
    by_reason = {}
    for case in cases:
        name, _, why = case.partition(":")
        by_reason.setdefault(why, []).append(f"`{name}`")
    return tuple(plain(f"{', '.join(names)} {'skips itself' if len(names) == 1 else 'skip themselves'}:{why}")
                 for why, names in by_reason.items())


def cell(machine, names):
    """yes, no or not tried; with remarks that say more."""
    if machine["unavailable"]:
        return not_tried(machine["unavailable"])
    ran = [test for test in machine["tests"] if test["name"] in names]
    wrong = [f"{test['name']} {test['verdict']}" for test in ran if test["verdict"] != "passed"]
    if not ran and machine["trouble"] not in ("", STOPPED):
        wrong = [f"the machine {machine['trouble']}"]
    if wrong:
        return Cell("no", tuple(map(plain, wrong)))
    passed, listed = {test["name"] for test in ran}, jobs.for_machine(machine["cpus"], [], jobs.listed())
    if left := [each.name for each in listed if each.name in names and each.name not in passed]:
        return not_tried((f"{', '.join(f'`{name}`' for name in names if name in passed)} passed, " if passed else "") +
                         f"the run was stopped before {', '.join(f'`{name}`' for name in left)}")
    if not ran:
        return not_tried("one host thread does the work of so many CPUs: a short form only")
    return Cell("yes", skips(case for test in ran for case in test["skipped"]))


def offered(machine, capability):
    """Whether the kernel has it, as doctor says."""
    for test in machine["tests"]:
        if test["name"] != "doctor":
            continue
        try:
            found = json.loads("\n".join(test["output"]))["capabilities"][capability]
        except (ValueError, KeyError):
            return Cell("not known", ("doctor did not say",))
        return Cell("yes") if found["present"] else Cell("no", (plain(found["detail"]),))
    return not_tried("the run was stopped before")


def row(machine):
    return {
        "kernel": Cell(machine["kernel"]), "version": Cell(machine["version"] or part.NOT_TRIED),
        "CPUs": Cell(str(machine["cpus"])), "what it stands for": Cell(machine["stands_for"]),
        **{column: cell(machine, names) for column, names in COLUMNS.items()},
        **{column: offered(machine, capability) for column, capability in OFFERS.items()},
        part.COMMIT: part.commits(test["commit"] for test in machine["tests"])}


def legend():
    rows = [f"| {column} | {', '.join(f'`{name}`' for name in names)} |" for column, names in COLUMNS.items()]
    return "\n".join(["| column | tests of `tests/vm/guest/tests.txt` that it stands for |", "| --- | --- |", *rows])


def write(path, machines):
    part.write(path, BEGIN, list(map(row, machines)), KEYS, legend())
