# SPDX-License-Identifier: MIT OR Apache-2.0
"""./dev test arm64's own parts: what it runs, how a test is judged, and its page.

Shown able to fail: a list that is searched for its patterns anywhere in a name; a limit that ends a test and not the
processes that it has started; a test that skips itself told as one that passed; a run that was stopped begun anew;
what another run keeps meanwhile lost; a long test before short ones; a group that failed told with what passed in it.
"""

import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "platforms"))

import part
from script import load_script

run = load_script(HERE / "run", "emulated_run")


def entry(name, label="unit", command=("true",), **more):
    properties = {"LABELS": [label], "WORKING_DIRECTORY": "/", **more}
    return {"name": name, "command": list(command),
            "properties": [{"name": key, "value": value} for key, value in properties.items()]}


def a_test(*words, name="lock/a", environment=(), skip_status=77, wanted=()):
    return run.Test(name, "lock", words, environment, "/", skip_status, wanted)


def test_the_list_names_cases_and_tests():
    left = run.left_out("# why\ncase *fork*\ntest (lock/a|coro/.*) # as well\nnever lock/c\n")
    assert left.cases == ["*fork*"]
    assert [name for name in ("lock/a", "lock/ab", "lock/c", "coro/x") if left.out_of_emulation(name)] == [
        "lock/a", "lock/c", "coro/x"]
    assert left.never.fullmatch("lock/c") and not left.never.fullmatch("lock/a")
    assert not run.left_out("").out_of_emulation("lock/a")
    assert run.left_out(run.LEFT_OUT.read_text()).cases


def test_what_belongs_to_no_group_or_needs_bpf_does_not_run():
    names = ["lock/a", "lock/wait/b", "posix/cond/uscl", "posix/cond/ttas", "posix/hooked/one/mcs", "model/x",
             "monitor/y"]
    listing = {"tests": [*map(entry, names), entry("lock/needs_bpf", label="bpf"), {"name": "lock/not_built"}]}
    assert [(test.name, test.group) for test in run.listed(listing)] == [
        ("lock/a", "lock"), ("lock/wait/b", "lock"), ("posix/cond/uscl", "posix/uscl")]


def test_what_emulation_leaves_out_runs_in_a_machine(tmp_path):
    program = tmp_path / "tests" / "a_test"
    program.parent.mkdir()
    # A test of GoogleTest's that lists a case where this is asked for.
    program.write_text(
        "#!/bin/sh\n[ \"$1 $GTEST_FILTER\" != '--gtest_list_tests *fork*' ] || printf 'a.\\n  forks\\n'\n")
    program.chmod(0o755)
    other = tmp_path / "tests" / "other"
    other.write_text("not one of GoogleTest's")
    emulator = tmp_path / "qemu-aarch64-static"
    emulator.write_text("#!/bin/sh\nshift 2\nexec \"$@\"\n")
    emulator.chmod(0o755)
    emulator = (str(emulator), "-L", "/tree")
    tests = [a_test(*emulator, str(program), name="lock/in_part", environment=(f"LD_PRELOAD={tmp_path}/lib/x.so",)),
             a_test(*emulator, str(program), "--gtest_filter=b", name="lock/filtered"),
             a_test(*emulator, str(other), "5", name="lock/whole"), a_test(*emulator, str(other), name="lock/none"),
             a_test(*emulator, str(program), name="lock/never")]

    def lines(list_of_cases):
        left = run.left_out(f"case {list_of_cases}\ntest lock/whole\nnever lock/never")
        return {each.name: each.line for each in run.rest.commands(tests, left, tmp_path)}

    whole = "env 'HOLDFAST_TEST_DIVISOR=10' '/holdfast/tests/other' '5'"
    in_part = ("env 'HOLDFAST_TEST_DIVISOR=10' 'LD_PRELOAD=/holdfast/lib/x.so' 'GTEST_FILTER=*fork*' "
               "'/holdfast/tests/a_test'")
    assert lines("*fork*") == {"lock/whole": whole, "lock/in_part": in_part}
    assert lines("*robust*") == {"lock/whole": whole}


@pytest.mark.parametrize("script, environment, wanted, wrong", [
    ("true", (), (), ""),
    ("exit 3", (), (), "status 3"),
    ("exit 77", (), (), run.SKIPPED),
    ("echo x: cannot be preloaded", (), (), "a library was not loaded"),
    ("echo lost; exit 1", (), ("lost",), ""),
    ("[ \"$LOCK $GTEST_FILTER\" = 'mcs -*fork*:a.b' ]", ("LOCK=mcs",), (), ""),
])
def test_a_test_is_judged_as_by_ctest(script, environment, wanted, wrong):
    test = a_test("sh", "-c", script, environment=environment, wanted=wanted)
    result, _ = run.run_test(test, ["*fork*", "a.b"])
    assert result["wrong"] == wrong


def test_tests_are_asked_for_less():
    result, _ = run.run_test(a_test("sh", "-c", "[ $HOLDFAST_TEST_DIVISOR = 10 ]"), [])
    assert not result["wrong"]


def test_cases_are_counted():
    script = "printf '[  PASSED  ] 7 tests.\\n[  SKIPPED ] 2 tests, listed below:\\n[  SKIPPED ] a.b\\n'"
    result, _ = run.run_test(a_test("sh", "-c", script), [])
    assert (result["cases"], result["skipped"]) == (7, 2)


def test_a_test_that_takes_too_long_ends_with_all_that_it_has_started(tmp_path):
    began = tmp_path / "began"
    script = f"sleep 1000 > /dev/null 2>&1 & echo $! > {began}; wait"
    for limit_s in [5, 60]:  # longer, where the machine did not let it begin
        result, _ = run.run_test(a_test("sh", "-c", script), [], limit_s=limit_s)
        assert result["wrong"] == f"takes longer than {limit_s} s"
        if began.exists() and began.read_text().strip():
            break
    process = Path(f"/proc/{began.read_text().strip()}/stat")
    while process.exists() and process.read_text().split()[2] != "Z":
        time.sleep(0.01)


def test_a_run_that_was_stopped_goes_on_and_one_that_has_passed_begins_anew(tmp_path):
    tests = [a_test("true", name=name) for name in ("lock/a", "lock/b")]
    kept = run.Kept(tmp_path / "kept.json")
    assert kept.left(tests) == tests
    kept.add("lock/a", {"wrong": ""})
    kept.add("lock/b", {"wrong": "status 1"})
    kept = run.Kept(tmp_path / "kept.json")
    assert kept.left(tests) == tests[1:]
    kept.add("lock/b", {"wrong": ""})
    assert kept.left(tests) == tests


def test_two_runs_at_a_time_keep_both_results(tmp_path):
    kept = [run.Kept(tmp_path / "kept.json") for _ in range(2)]
    kept[0].add("lock/a", {"wrong": ""})
    kept[1].add("lock/b", {"wrong": ""})
    assert list(run.Kept(tmp_path / "kept.json").results) == ["lock/a", "lock/b"]


def test_what_takes_long_comes_last(tmp_path):
    kept = run.Kept(tmp_path / "kept.json")
    for name, seconds in [("lock/slow", 300), ("lock/quick", 2), ("lock/slower", 3000)]:
        kept.add(name, {"wrong": "status 1", "seconds": seconds})
    tests = [a_test("true", name=f"lock/{name}") for name in ("slower", "new_stress", "slow", "new", "quick")]
    assert [test.name for test in kept.shortest_first(tests, {"lock/new_stress"})] == [
        "lock/quick", "lock/new", "lock/slow", "lock/new_stress", "lock/slower"]


def test_stress_is_known_by_its_label():
    listing = {"tests": [entry("lock/a"), entry("lock/b", label="stress")]}
    assert [test.is_stress for test in run.listed(listing)] == [False, True]


def result(wrong="", cases=3, skipped=0):
    return {"wrong": wrong, "cases": cases, "skipped": skipped, "commit": "abc1234"}


def test_the_page_tells_each_group_and_the_rest():
    tests = [a_test("true", name=name) for name in ("lock/a", "lock/b", "lock/c", "lock/out")]
    left = run.left_out("test lock/out")

    def told(rest=(), **results):
        rows = run.rows(tests, left, {f"lock/{name}": each for name, each in results.items()},
                        {f"lock/{name}": result() for name in rest})
        assert [row["tests"].text for row in rows[:-1]] == [f"`{group}`" for group in run.GROUPS]
        return next(row["passed"] for row in rows if row["tests"].text == "`lock`"), rows[-1]["passed"].text

    assert told()[0].text == told()[1] == part.NOT_TRIED
    assert told(a=result(), b=result(skipped=1), c=result())[0].text == "3 tests, 9 cases; 1 more skip themselves"
    assert told(a=result())[0].text == "1 of 3 tests tried, 3 cases"
    assert told(a=result(), b=result(wrong="status 1"), c=result())[0].text == "no: 1 of 3 failed: lock/b"
    assert told(a=result(wrong=run.SKIPPED))[0].remarks == (f"`lock/a` {run.SKIPPED}",)
    assert told(rest=("a", "out"))[1] == "2 tests, 6 cases"


def test_a_test_may_be_named_alone():
    assert run.options_of(["lock/scl/a", "posix/uscl"]).groups == ["lock/scl/a", "posix/uscl"]


def test_an_unknown_group_is_wrong_usage():
    with pytest.raises(SystemExit) as end:
        run.options_of(["kernel"])
    assert end.value.code == 2
