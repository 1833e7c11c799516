# SPDX-License-Identifier: MIT OR Apache-2.0
"""Outcomes as a table for people: a row for each test, a column for each machine; then what is wrong, in sentences."""


def cell(result):
    if result is None:
        return "-"
    return f"{result.seconds:.0f} s" if result.passed else "FAILED"


def of(outcomes):
    names = list(dict.fromkeys(result.name for outcome in outcomes for result in outcome.results))
    rows = [["", *(outcome.plan.name for outcome in outcomes)]]
    for name in names:
        by_machine = [{result.name: result for result in outcome.results} for outcome in outcomes]
        rows.append([name, *(cell(results.get(name)) for results in by_machine)])
    rows.append(["all", *(f"{sum(result.seconds for result in outcome.results):.0f} s" for outcome in outcomes)])
    rows.append(["", *("passed" if outcome.passed else "none" if outcome.unavailable else "FAILED"
                       for outcome in outcomes)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["", *("  ".join(f"{text:<{width}}" if column == 0 else f"{text:>{width}}"
                             for column, (text, width) in enumerate(zip(row, widths))).rstrip() for row in rows)]
    lines += [""]
    for outcome in outcomes:
        lines += [f"{outcome.plan.name}: {outcome.package} {outcome.version}"] if outcome.package else []
        lines += [f"wrong: {outcome.plan.name}: {sentence}" for sentence in outcome.wrong]
        lines += [f"again: {outcome.plan.name}: booted {outcome.boots} times"] if outcome.boots > 1 else []
        lines += [f"in part: {outcome.plan.name}: {result.name}: {case}" for result in outcome.results if result.passed
                  for case in result.skipped]
    good = sum(outcome.passed for outcome in outcomes)
    lines.append(f"{good} of {len(outcomes)} machines passed")
    return "\n".join(lines)
