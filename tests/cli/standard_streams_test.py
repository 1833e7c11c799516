# SPDX-License-Identifier: MIT OR Apache-2.0
"""Standard streams that are closed, or that nothing can be written to: they change no status, and nobody's files."""

import os
import subprocess

import pytest
from conftest import COMMAND


def status_with(streams, *arguments):
    """The command's exit status, run by a shell with these redirections."""
    command = f'exec "$@" {streams}'
    return subprocess.run(["sh", "-c", command, "sh", COMMAND, *arguments], stdin=subprocess.DEVNULL, timeout=60,
                          capture_output=True, check=False).returncode


@pytest.mark.parametrize("streams", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize(("arguments", "status"), [
    (["run", "--stats", "--", "sh", "-c", "exit 9"], 9),
    (["run", "--stats", "--", "sh", "-c", "kill -KILL $$"], -9),
    (["run", "--", "./no-such-program"], 127),
    (["bench", "no-such-workload"], 2),
    (["compare", "--rounds", "1", "--locks", "glibc", "--", "false"], 1),
    (["monitor", "status", "--socket", "/no/socket"], 1),
])
def test_errors_that_nobody_can_read_change_no_status(streams, arguments, status):
    assert status_with(streams, *arguments) == status


@pytest.mark.parametrize("streams", [">/dev/full", ">&-"])
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["bench", "--list"]])
def test_what_was_asked_for_and_is_lost_is_a_failure(streams, arguments):
    assert status_with(streams, *arguments) == 125


# Shown able to fail: with the library's own sentence, "cannot write to file" (sentence_of in exit_status.hpp).
def test_what_can_not_be_printed_is_said_in_one_sentence():
    with open("/dev/full", "w", encoding="ascii") as full:
        for words in (["completion", "bash"], ["--help"]):
            result = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            assert result.stderr.startswith("holdfast: not all that was printed could be written") and \
                result.stderr.count("\n") == 1 and result.returncode == 125, result


def test_a_program_has_the_descriptors_that_it_would_have_had():
    shown = 'for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && has="$has $fd"; done; echo "has:$has" >&3'
    for before in ([], [COMMAND, "run", "--"]):
        read, write = os.pipe()
        command = ["bash", "-c", f'exec "$@" 3>&{write} <&- >&- 2>&-', "bash", *before, "bash", "-c", shown]
        subprocess.run(command, pass_fds=[write], timeout=60, check=True)
        os.close(write)
        with os.fdopen(read) as output:
            assert output.read() == "has:\n"


def test_messages_do_not_go_to_a_file_that_took_their_place(tmp_path):
    results = tmp_path / "results.json"
    assert status_with("2>&-", "compare", "--rounds", "1", "--locks", "glibc", "--json", results, "--", "false") == 1
    assert results.read_text().startswith("{")
    assert "holdfast:" not in results.read_text()
