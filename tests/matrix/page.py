# SPDX-License-Identifier: MIT OR Apache-2.0
"""The parts of docs/platforms.md that are about C libraries and compilers, made of each suite's last run; what has not
been tried here is as the page had it."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "platforms"))

import part
from part import Cell, not_tried, plain

BEGIN = "<!-- glibc: written by ./dev matrix -->"
BEGIN_COMPILERS = "<!-- compilers: written by ./dev matrix -->"
KEYS = ("Debian",)
COMPILER_KEYS = ("Debian", "compiler")

# Column: its trial.
COLUMNS = {"all objects are Holdfast's": "objects", "nothing of glibc's is past it": "exports",
           "conformance tests": "conformance"}
BUILDS = "build "  # what the name of a compiler's trial begins with


def cell(trial, in_full=False):
    if not trial:
        return not_tried()
    if not trial["passed"]:
        return Cell(f"no: {plain(trial['detail'])}")
    return Cell(plain(trial["detail"]) if in_full else "yes")


def row(result):
    trials = {each["trial"]: each for each in result["trials"]}
    return {
        "Debian": Cell(result["suite"]), "glibc": Cell(result["glibc"] or part.NOT_TRIED),
        **{column: cell(trials.get(name), in_full=name == "conformance") for column, name in COLUMNS.items()},
        part.COMMIT: part.commits(trials[name]["commit"] for name in COLUMNS.values() if name in trials)}


def compiler_rows(result):
    trials = {each["trial"]: each for each in result["trials"]}
    return [{"Debian": Cell(result["suite"]), "compiler": Cell(name.removeprefix(BUILDS)),
             "builds": Cell("the BPF programs" if "clang" in name else "the product"),
             "without error or warning": cell(trials.get(name)),
             part.COMMIT: part.commits(trials[name]["commit"] for name in [name] if name in trials)}
            for name in result["planned"] if name.startswith(BUILDS)]


def with_parts(text, results):
    """The page's text with both parts written anew."""
    text = part.with_rows(text, BEGIN, list(map(row, results)), KEYS)
    return part.with_rows(text, BEGIN_COMPILERS, sum(map(compiler_rows, results), []), COMPILER_KEYS)


def write(path, results):
    path.write_text(with_parts(path.read_text(), results))
