# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the benchmarks' programs print: figures by name."""

import json
import re

_FIGURE = re.compile(r"^(\S+) : ([0-9]+)", re.MULTILINE)


def figures_in(output):
    """Name -> value, of a program's output ("name : value" lines) or a workload's (a record)."""
    if output.startswith("{"):
        return {"operations": json.loads(output)["ops_per_s"]}
    return {name: float(value) for name, value in _FIGURE.findall(output)}
