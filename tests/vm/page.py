# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part of docs/platforms.md that is about kernels: kernel by what works. Made of what the last full run of each
machine left in build/vm/results. Other parts of the page belong to other commands; each writes between its own
marks."""

import json

import jobs
from report import STOPPED

BEGIN = "<!-- kernels: written by ./dev vm all -->"
END = "<!-- end -->"

# Column: the tests that have to pass for a "yes".
COLUMNS = {
    "monitor": ("doctor", "monitor", "server", "absences", "storm", "shared_cpu"),
    "its count": ("count", "count_few"),
    "each instruction": ("single_step",),
    "scopes": ("scopes",),
    "quota": ("quota",),
    "futex view": ("futex_watch",),
    "service": ("service", "restart"),
    "statistics": ("statistics",),
    "run": ("run", "commit_limit"),
    "soak": ("soak",),
    "oversubscription": ("oversub",),
}

# Column: what 'holdfast doctor --json' calls it. The kernel has it or not; no test of ours fails without it.
OFFERS = {"time-slice extension": "slice_extension", "sched_ext": "sched_ext"}


class Notes:
    """Numbered remarks below the table; the same remark has one number."""

    def __init__(self):
        self.texts = []

    def number(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1


def plain(text):
    """Text that Markdown leaves as it is."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def cell(machine, names, notes):
    """yes, no or not tried; with the numbers of notes that say more."""
    if machine["unavailable"]:
        return f"not tried ({notes.number(plain(machine['unavailable']))})"
    ran = [test for test in machine["tests"] if test["name"] in names]
    wrong = [f"{test['name']} {test['verdict']}" for test in ran if test["verdict"] != "passed"]
    if not ran and machine["trouble"] not in ("", STOPPED):
        wrong = [f"the machine {machine['trouble']}"]
    if wrong:
        return f"no ({', '.join(str(notes.number(plain(sentence))) for sentence in wrong)})"
    expected = {each.name for each in jobs.for_machine(machine["cpus"], [], jobs.listed())}.intersection(names)
    if not expected <= {test["name"] for test in ran}:
        return f"not tried ({notes.number('the run was stopped before')})"
    if not ran:
        return f"not tried ({notes.number('one host thread does the work of so many CPUs: a short form only')})"
    parts = [f"`{case.split(':')[0]}` skips itself:{case.partition(':')[2]}"
             for test in ran for case in test["skipped"]]
    return f"yes ({', '.join(str(notes.number(plain(part))) for part in parts)})" if parts else "yes"


def offered(machine, capability, notes):
    """Whether the kernel has it, as doctor says."""
    for test in machine["tests"]:
        if test["name"] != "doctor":
            continue
        try:
            found = json.loads("\n".join(test["output"]))["capabilities"][capability]
        except (ValueError, KeyError):
            continue
        return "yes" if found["present"] else f"no ({notes.number(plain(found['detail']))})"
    return f"not known ({notes.number('doctor did not say')})"


def table(machines):
    notes = Notes()
    columns = ["kernel", "CPUs", "what it stands for", *COLUMNS, *OFFERS]
    lines = [f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
    for machine in machines:
        version = machine["version"] or "none"
        cells = [*(cell(machine, names, notes) for names in COLUMNS.values()),
                 *(offered(machine, capability, notes) for capability in OFFERS.values())]
        lines.append(f"| {machine['kernel']} ({version}) | {machine['cpus']} | {machine['stands_for']} | "
                     f"{' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"{number}. {text}" for number, text in enumerate(notes.texts, 1))]).rstrip()


def legend():
    rows = [f"| {column} | {', '.join(f'`{name}`' for name in names)} |" for column, names in COLUMNS.items()]
    return "\n".join(["| column | tests of `tests/vm/guest/tests.txt` that it stands for |", "| --- | --- |", *rows])


def section(machines):
    return f"{table(machines)}\n\n{legend()}"


def with_section(text, content, begin=BEGIN):
    """The page's text with the part that begins so written anew. ValueError: the page has no such part."""
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"the page has no part between '{begin}' and '{END}'")
    return f"{before}{begin}\n\n{content}\n\n{END}{after}"


def write(path, content, begin=BEGIN):
    path.write_text(with_section(path.read_text(), content, begin))
