# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the benchmarks' programs print, and how contenders of several rounds are set against each other."""

import json
import re
import shlex
import statistics
import sys
from pathlib import Path

_FIGURE = re.compile(r"^(\S+) : ([0-9]+)", re.MULTILINE)


def figures_in(output):
    """Name -> value, of a program's output ("name : value" lines) or a workload's (a record)."""
    if output.startswith("{"):
        return {"operations": json.loads(output)["ops_per_s"]}
    return {name: float(value) for name, value in _FIGURE.findall(output)}


def figures_of(command, status, output, errors):
    """The same of a program that has ended; ends the script where it has not done well."""
    found = figures_in(output)
    if status != 0 or not found:
        last = (errors.strip().splitlines() or ["it printed no figure"])[-1]
        sys.exit(f"{Path(sys.argv[0]).name}: {shlex.join(map(str, command))} ended with {status}: {last}")
    return found


def rounds_in_turns(names, rounds, what):
    """The name of each run, in an order that rotates; on a terminal it says which one goes on."""
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            if sys.stderr.isatty():
                print(f"\r\033[K{what}, round {number + 1}, {name}", end="", file=sys.stderr)
            yield name
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)


def ratios(own, reference):
    """Median and quartiles, as text. Rounds in which the other one did nothing have none."""
    every = sorted(one / other for one, other in zip(own, reference) if other)
    if not every:
        return f"{'-':>19}"
    quarter = len(every) // 4
    return f"{statistics.median(every):5.2f} ({every[quarter]:4.2f}, {every[-1 - quarter]:4.2f})"
