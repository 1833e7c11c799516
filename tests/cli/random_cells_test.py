# SPDX-License-Identifier: MIT OR Apache-2.0
"""bench/scripts/random-cells: the cells that it draws, the table, and what it says of a program that fails.

Shown able to fail: a seed that is not used; a second look that is left out; failures that do not count.
"""

import json
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "scripts" / "random-cells"


def random_cells(*words):
    return subprocess.run([SCRIPT, "--minutes", "0.02", "--seconds", "0.01", "--again", "2", *words],
                          capture_output=True, text=True, timeout=600, check=False)


def test_the_same_seed_draws_the_same_cells_and_the_worst_are_measured_again(tmp_path):
    drawn = []
    for name in "first", "second":
        ended = random_cells("--no-monitor", "--seed", "5", "--json", tmp_path / name)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        found = json.loads((tmp_path / name).read_text())
        lines = ended.stdout.splitlines()
        assert lines[-1].startswith(f"{len(found)} cells, seed 5: median ")
        worst = min(found, key=lambda one: one["ratio"])
        assert len(worst["plain again"]) == len(worst["ours again"]) == 7
        assert lines[1].endswith(" ".join(f"{name} {value}" for name, value in worst["cell"].items()))
        drawn.append({json.dumps(one["cell"]) for one in found})
    fewer, more = sorted(drawn, key=len)
    assert fewer <= more


def test_a_cell_that_fails_is_named():
    ended = random_cells("--run", "--conf nothing:nonsense")
    assert ended.returncode == 1
    assert "ended with " in ended.stdout and "pthread-objects --object " in ended.stdout
