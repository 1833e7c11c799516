# SPDX-License-Identifier: MIT OR Apache-2.0
"""`record` and what `report` makes of recordings, of a server with known hot spots (known_hot_spots.cpp): plain and
under Holdfast. Optimized and without frame pointers, as programs are.

Shown able to fail: with the thread that woke each waiter as the holder (put_holders of wait_log.cpp); with scopes of an
inlined function where it was written (source_of of unwinder.cpp); with processes in the order of their numbers
(by_waiting of wait_summary.cpp).
"""

import json
import os
import re
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import pytest

from conftest import COMMAND, assert_usage_error, without_rights

SERVER = Path(os.environ.get("KNOWN_HOT_SPOTS", "build/release/tests/cli/known_hot_spots"))
SOURCE = Path(__file__).parent / "known_hot_spots.cpp"
as_root = pytest.mark.skipif(os.getuid() != 0, reason="waits of programs are root's to see")


def line_with(word):
    """The line of the server's source that ends in such a comment."""
    return next(i for i, line in enumerate(SOURCE.read_text().splitlines(), 1) if line.endswith("// " + word) or
                f"// {word}" in line)


@pytest.fixture(name="server")
def the_server():
    """Starts the server, behind other words; it runs when this returns."""
    started = []

    def start(*before):
        process = subprocess.Popen([*map(str, before), SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process

    yield start
    for process in started:
        process.stdin.close()
        process.wait()


@pytest.fixture(name="recording", scope="module")
def a_recording(tmp_path_factory):
    """Of the plain server, by its number."""
    path = tmp_path_factory.mktemp("recording") / "recording.json"
    with subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        done = subprocess.run([COMMAND, "record", "--pid", str(process.pid), "--seconds", "2", "-o", path],
                              capture_output=True, text=True, check=False, timeout=120)
        process.stdin.close()
    assert done.returncode == 0, done.stderr
    assert f"next: holdfast report {path}" in done.stderr
    return path


def names_the_hot_spots(text):
    try:
        assert_names_the_hot_spots(text)
    except (AssertionError, AttributeError, IndexError):  # no such lines
        return False
    return True


def assert_names_the_hot_spots(text):
    waits = f"lookup_in_cache (known_hot_spots.cpp:{line_with('WAITS')})"
    first = text.partition("waits in")[2]
    assert waits in first.splitlines()[0], text
    held = first.partition("held by")[2].splitlines()[0]
    share, name, function = re.match(r"\s+(\d+)% (\S+) \(\d+\) in (\S+)", held).groups()
    assert name == "compactor" and function == "compact_the_cache" and int(share) > 60, text


@as_root
def test_a_recording_is_not_replaced_without_a_word(holdfast, tmp_path):
    path = tmp_path / "recording.json"
    for said in ["", f"holdfast: '{path}' is there, and this recording will replace it: -o FILE names another\n"]:
        result = holdfast("record", "-o", path, "--", "true")
        assert result.returncode == 0 and said in result.stderr and ("is there" in result.stderr) == bool(said), result
    assert "is there" not in holdfast("record", "-o", "/dev/null", "--", "true").stderr


@as_root
def test_says_who_waits_where_and_who_holds_it(holdfast, recording):
    result = holdfast("report", recording)
    assert result.returncode == 0 and not result.stderr
    assert_names_the_hot_spots(result.stdout)
    assert "pthread_mutex_lock" in result.stdout
    assert "waited for in lookup_in_cache" in result.stdout  # the name of a lock on the heap


@as_root
def test_programs_under_holdfast_and_what_is_forked(holdfast, tmp_path):
    path = tmp_path / "recording.json"
    for seconds in [2, 10, 60]:  # longer, where the machine did not let it run
        script = f"(sleep {seconds}) | {COMMAND} run -- {SERVER}; exit 3"
        result = holdfast("record", "-o", path, "--", "sh", "-c", script)
        assert result.returncode == 3, result
        text = holdfast("report", path).stdout
        if names_the_hot_spots(text):
            break
    assert_names_the_hot_spots(text)


@as_root
def test_waiting_is_added_up_right(recording):
    """Four readers wait for 20 of 21 ms, half of a millisecond of which they sleep for themselves."""
    made = json.loads(recording.read_text())
    fields = {name: i for i, name in enumerate(made["fields_of_wait"])}
    waited = sum((wait[fields["ended_ns"]] - wait[fields["begun_ns"]]) * wait[fields["weight"]]
                 for wait in made["waits"] if wait[fields["for_lock"]])
    threads = waited / 1e9 / made["about"]["seconds"]
    assert 2.5 < threads <= 4.01, threads
    for wait in made["waits"]:
        held = sum(part[2] for part in wait[fields["held_by"]])
        assert held <= wait[fields["ended_ns"]] - wait[fields["begun_ns"]]


@as_root
def test_other_viewers_formats(holdfast, recording, tmp_path):
    paths = {name: tmp_path / name for name in ["flame-graph", "folded", "perfetto", "speedscope", "pprof"]}
    result = holdfast("report", recording, *[word for name, path in paths.items() for word in ("--" + name, path)])
    assert result.returncode == 0, result.stderr
    folded = [line.rpartition(" ") for line in paths["folded"].read_text().splitlines()]
    longest = max(folded, key=lambda line: int(line[2]))[0]
    assert re.search(r"lookup_in_cache;pthread_mutex_lock;\[lock\].*;\[held by\] compactor;\[in\] compact_the_cache",
                     longest), longest
    root = xml.etree.ElementTree.parse(paths["flame-graph"]).getroot()
    assert root.tag.endswith("svg") and "http" not in re.sub(r"http://www\.w3\.org/\S+", "",
                                                            paths["flame-graph"].read_text())
    names = [box.get("data-n") for box in root.iter() if box.get("data-n")]
    assert "lookup_in_cache" in names and "[held by] compactor" in names
    events = json.loads(paths["perfetto"].read_text())["traceEvents"]
    assert {"X", "M", "C", "s", "f"} == {event["ph"] for event in events}
    assert any(event["ph"] == "M" and event["args"]["name"] == "compactor" for event in events)
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in events if event["ph"] == "X")
    speedscope = json.loads(paths["speedscope"].read_text())
    profile = speedscope["profiles"][0]
    assert sum(profile["weights"]) == profile["endValue"]
    assert max(max(sample) for sample in profile["samples"]) < len(speedscope["shared"]["frames"])
    assert b"lookup_in_cache" in paths["pprof"].read_bytes()


@as_root
def test_what_waits_for_nothing_has_an_empty_recording(holdfast, tmp_path):
    path = tmp_path / "recording.json"
    result = holdfast("record", "-o", path, "--", "true")
    assert result.returncode == 0 and "no thread waited" in result.stderr
    shown = holdfast("report", path, "--flame-graph", tmp_path / "empty.svg")
    assert shown.returncode == 0 and "no thread waited" in shown.stdout
    xml.etree.ElementTree.parse(tmp_path / "empty.svg")


@as_root
def test_broken_recordings_are_refused(holdfast, recording, tmp_path):
    text, broken = recording.read_text(), tmp_path / "broken.json"
    made = json.loads(text)
    made["waits"][0][made["fields_of_wait"].index("waits_at")] = 10 ** 6
    for wrong in [text[:len(text) // 2], json.dumps(made, separators=(",", ":"))]:
        broken.write_text(wrong)
        assert_usage_error(holdfast("report", broken), "recording that is not whole")
    assert_usage_error(holdfast("report", recording, recording), "reported alone")


# Shown able to fail: with value() in recording::read, whose errors were the library's: "type must be number".
@pytest.mark.parametrize("wrong", [{"version": "x"}, {"version": 1}, {"version": 1, "about": 3}, {},
                                   {"version": 1, "about": {}, "processes": [], "threads": 7}])
def test_what_is_no_recording_inside_is_refused(holdfast, tmp_path, wrong):
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"kind": "holdfast-recording", **wrong}, separators=(",", ":")))
    assert_usage_error(holdfast("report", broken), "recording that is not whole")


@pytest.mark.parametrize("arguments, part", [
    ([], "what is to be recorded?"),
    (["--pid", "1", "--", "true"], "either a process or a program"),
    (["--seconds", "3", "--", "true"], "--seconds is for --pid"),
    (["--pid", "0"], "'0' is not a whole number"),
])
def test_mistakes(holdfast, arguments, part):
    assert_usage_error(holdfast("record", *arguments), part)


def test_pictures_of_recordings_are_not_made_of_measurements(holdfast, tmp_path):
    (tmp_path / "cells.json").write_text("{}\n")
    assert_usage_error(holdfast("report", tmp_path / "cells.json", "--folded", tmp_path / "f"), "'holdfast record'")


@as_root
def test_users_are_told_what_is_missing(installed_for_all, tmp_path):
    tmp_path.chmod(0o777)
    result = subprocess.run(without_rights(installed_for_all, "record", "-o", "/tmp/nobody's.json", "--pid", "1"),
                            capture_output=True, text=True, check=False)
    assert result.returncode == 125 and "the watch over waits" in result.stderr, result
    assert not Path("/tmp/nobody's.json").exists()


@as_root
def test_a_process_that_is_not_there(holdfast, tmp_path):
    result = holdfast("record", "-o", tmp_path / "r.json", "--pid", 2 ** 22)
    assert result.returncode == 125 and "there is no process" in result.stderr
