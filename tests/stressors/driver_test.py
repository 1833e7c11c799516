# SPDX-License-Identifier: MIT OR Apache-2.0
"""Does ./dev stress find what it is there for? With programs of ours in stress-ng's place, and without Holdfast."""

import os
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).resolve().parent / "run"
FOR_LONG = 1_000_000 + os.getpid()  # seconds, by which it is told from what others run


def stress(tmp_path, script, *options):
    program = tmp_path / "stress-ng"
    program.write_text("#!/bin/sh\n"
                       "case $1 in --stressors) echo mutex futex sem pthread lockmix; exit;; esac\n" + script)
    program.chmod(0o755)
    return subprocess.run([sys.executable, RUN, "1", "--locks", "plain", "--only", "mutex", "--stress-ng", program,
                           *options], capture_output=True, text=True, timeout=600)


def test_all_is_well_where_all_end(tmp_path):
    done = stress(tmp_path, "sleep 1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 slices, 0 failed" in done.stdout


def test_one_that_fails_is_a_failure(tmp_path):
    done = stress(tmp_path, "sleep 1; echo it is broken; exit 3")
    assert done.returncode == 1
    assert "status 3" in done.stdout and "it is broken" in done.stdout


def test_one_that_does_not_end_is_shown_and_ended(tmp_path):
    done = stress(tmp_path, f"sleep {FOR_LONG}", "--slice", "1", "--patience", "1")
    assert done.returncode == 1
    assert "has not ended after 2 s" in done.stdout and f"sleep {FOR_LONG}" in done.stdout


def test_a_child_that_outlives_it_is_shown_and_ended(tmp_path):
    done = stress(tmp_path, f"sleep {FOR_LONG} >/dev/null 2>&1 & sleep 1")
    assert done.returncode == 1
    assert "outlive" in done.stdout and f"sleep {FOR_LONG}" in done.stdout
    assert subprocess.run(["pgrep", "-fx", f"sleep {FOR_LONG}"], capture_output=True, check=False).returncode == 1
