# SPDX-License-Identifier: MIT OR Apache-2.0
"""holdfast doctor: says what there is, what follows from it, and what to do."""

import json
import os
import subprocess

import pytest

from conftest import without_rights

CAPABILITIES = {"btf", "bpf", "privileges", "rseq", "slice_extension", "sched_ext"}


def test_json_and_text_agree(holdfast):
    found = json.loads(holdfast("doctor", "--json").stdout)
    text = holdfast("doctor")
    assert set(found["capabilities"]) == CAPABILITIES
    assert f"mode: {found['mode']}" in text.stdout
    assert text.returncode == (1 if found["mode"] == "blocking" else 0)
    assert f"service: {found['service']['state']}" in text.stdout
    for capability in found["capabilities"].values():
        assert capability["present"] or capability["remedy"], "what is missing comes with what to do"


@pytest.mark.skipif(os.getuid() != 0, reason="the monitor needs root")
def test_root_has_the_monitor(holdfast):
    assert json.loads(holdfast("doctor", "--json").stdout)["mode"] == "monitor"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give rights up")
def test_without_rights_it_says_so_and_what_to_do(installed_for_all):
    result = subprocess.run(without_rights(installed_for_all, "doctor"), capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "mode: blocking" in result.stdout
    assert "sudo" in result.stdout and "setcap" in result.stdout
    assert result.stderr == ""
