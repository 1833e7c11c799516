# SPDX-License-Identifier: MIT OR Apache-2.0
"""A part of docs/platforms.md: a table between marks that belong to one command, and numbered remarks below it.

A command that has tried a part of what a table tells of writes these cells, and leaves the others as it finds them, so
each row says which commits it is of, and when they were tried."""

import datetime
import re
import subprocess
from dataclasses import dataclass

END = "<!-- end -->"
NOT_TRIED = "not tried"
COMMIT = "day and commit"  # the last column of each table
PAGE = "docs/platforms.md"  # in the tree


@dataclass(frozen=True)
class Cell:
    """What stands in a row under one column, and remarks on it."""
    text: str
    remarks: tuple = ()

    @property
    def tried(self):
        return self.text != NOT_TRIED


def plain(text):
    """Text that Markdown leaves as it is, in a table's cell, too."""
    return re.sub(r"(?<!\\)\|", r"\\|", text.replace("<", "&lt;"))


def not_tried(why=""):
    return Cell(NOT_TRIED, (plain(why),) if why else ())


def commit_of(root):
    """What is tried, and when: today, the sources' commit, and whether they have been changed since. The page is none
    of them, since the run before this one has written it."""
    def git(*words):
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True,
                              check=False).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", f":(exclude){PAGE}")
    return f"{datetime.date.today()} {git('describe', '--always')}" + ("-dirty" if changed else "")


def commits(texts):
    """The cell that names these commits and their days, each once."""
    return Cell(", ".join(dict.fromkeys(each for text in texts for each in text.split(", ") if each)) or NOT_TRIED)


def between(text, begin):
    """What stands before the part, in it and behind it. ValueError: the page has no such part."""
    before, found, rest = text.partition(begin)
    content, closed, after = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"the page has no part between '{begin}' and '{END}'")
    return before, content, after


def words_of(line):
    """A line's cells, as they are written."""
    return [word.strip() for word in re.split(r"(?<!\\)\|", line)[1:-1]]


def read(content):
    """The rows of a part's table: for each, its cells by column."""
    lines = content.strip().splitlines()
    if not lines or not lines[0].startswith("|"):
        return []
    remarks = dict(re.findall(r"^(\d+)\. (.*)$", content, re.MULTILINE))
    rows = []
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        row = {}
        for column, word in zip(words_of(lines[0]), words_of(line)):
            noted = re.fullmatch(r"(.*) \((\d+(?:, \d+)*)\)", word)
            if noted and all(number in remarks for number in noted[2].split(", ")):
                row[column] = Cell(noted[1], tuple(remarks[number] for number in noted[2].split(", ")))
            else:
                row[column] = Cell(word)
        rows.append(row)
    return rows


def merged(new, old, keys):
    """The new rows. What they have not tried is as in the old row of the same keys, whose commits are then named
    first."""
    known = {tuple(row.get(key) for key in keys): row for row in old}
    rows = []
    for row in new:
        before, untried = known.get(tuple(row[key] for key in keys), {}), not row[COMMIT].tried
        kept = {column for column, cell in row.items() if not cell.tried and column in before and
                (before[column].tried or untried)}
        whole = {column: before[column] if column in kept else cell for column, cell in row.items()}
        if any(whole[column].tried for column in kept - {COMMIT}) and COMMIT in before:
            whole[COMMIT] = commits(each[COMMIT].text for each in (before, row) if each[COMMIT].tried)
        rows.append(whole)
    return rows


def table(rows):
    """Rows, all with the same columns, and their remarks: the same remark has one number."""
    remarks = list(dict.fromkeys(each for row in rows for cell in row.values() for each in cell.remarks))
    lines = [f"| {' | '.join(rows[0])} |", "| --- " * len(rows[0]) + "|"]
    for row in rows:
        cells = [cell.text + (f" ({', '.join(str(remarks.index(each) + 1) for each in cell.remarks)})"
                              if cell.remarks else "") for cell in row.values()]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"{number}. {text}" for number, text in enumerate(remarks, 1))]).rstrip()


def with_rows(text, begin, rows, keys, legend=""):
    """The page's text with the part that begins so written anew."""
    before, content, after = between(text, begin)
    whole = table(merged(rows, read(content), keys)) + (f"\n\n{legend}" if legend else "")
    return f"{before}{begin}\n\n{whole}\n\n{END}{after}"


def write(path, begin, rows, keys, legend=""):
    path.write_text(with_rows(path.read_text(), begin, rows, keys, legend))
