# SPDX-License-Identifier: MIT OR Apache-2.0
"""./dev matrix's own parts: its list of suites, its page, and that nothing is left behind in a chroot.

Shown able to fail: mounts made without a namespace of their own; processes that nobody ends; a page that forgets the
text behind its part; a trial that failed told as a yes; a trial that has passed carried out again; a run that has
passed never begun anew; a test whose library was not loaded told as passed; tests that are not built left out unsaid;
a failed build told by its last lines.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "platforms")]

import page
import part
import trials
from chroot import Chroot
from script import load_script


def driver():
    return load_script(HERE / "run", "matrix_run")


def result(suite="trixie", glibc="2.41", passed=True):
    tried = [
        {"trial": "objects", "passed": passed, "detail": "all" if passed else "not Holdfast's: cond"},
        {"trial": "exports", "passed": True, "detail": "1 checked"},
        {"trial": "conformance", "passed": True, "detail": "7 tests, 70 cases"},
        {"trial": "build gcc-14", "passed": True, "detail": "no warning"},
        {"trial": "build clang-19", "passed": True, "detail": "no warning"}]
    return {"suite": suite, "glibc": glibc, "trials": [{**each, "commit": "abc1234"} for each in tried],
            "planned": [each["trial"] for each in tried]}


def test_every_suite_has_compilers():
    suites = driver().suites()
    assert set(suites) == {"bookworm", "trixie", "sid"}
    assert all(suite.gccs and suite.clangs and suite.distribution.startswith("debian-") for suite in suites.values())


@pytest.mark.parametrize("words", [["potato"], ["--only", "gcc-2"], ["--compilers", "--no-builds"]])
def test_what_is_not_known_is_wrong_usage(words):
    with pytest.raises(SystemExit) as end:
        driver().options_of(words, driver().suites())
    assert end.value.code == 2


EMPTY = f"before\n{page.BEGIN}\nstale\n{part.END}\nbetween\n{page.BEGIN_COMPILERS}\nstale\n{part.END}\nafter\n"


def test_the_page_keeps_all_but_its_parts():
    written = page.with_parts(EMPTY, [result()])
    assert written.startswith("before\n") and written.endswith(f"{part.END}\nafter\n") and "stale" not in written
    assert f"{part.END}\nbetween\n" in written
    assert page.with_parts(written, [result()]) == written
    with pytest.raises(ValueError):
        page.with_parts("no marks", [result()])


def test_failures_are_said_and_commits():
    text = page.with_parts(EMPTY, [result("bookworm", "2.36"), result("sid", "2.43", passed=False)])
    assert "| sid | 2.43 | no: not Holdfast's: cond | yes | 7 tests, 70 cases | abc1234 |" in text
    assert "| sid | gcc-14 | the product | yes | abc1234 |" in text
    assert "| sid | clang-19 | the BPF programs | yes | abc1234 |" in text


def test_a_compiler_that_has_not_been_tried_is_said_or_is_as_the_page_had_it():
    here = {**result(), "planned": ["conformance", "build gcc-14", "build gcc-12"]}
    first = page.with_parts(EMPTY, [here])
    assert "| trixie | gcc-12 | the product | not tried | not tried |" in first
    elsewhere = {**here, "trials": [{"trial": "build gcc-12", "passed": False, "detail": "1 warnings: a | b",
                                     "commit": "1111111"}], "glibc": ""}
    second = page.with_parts(first, [elsewhere])
    assert "| trixie | 2.41 | yes | yes | 7 tests, 70 cases | abc1234 |" in second
    assert "| trixie | gcc-14 | the product | yes | abc1234 |" in second
    assert "| trixie | gcc-12 | the product | no: 1 warnings: a \\| b | 1111111 |" in second
    assert page.with_parts(second, [{**elsewhere, "trials": []}]) == second


def test_what_a_suite_has_no_library_for_is_left_out_and_said(tmp_path, monkeypatch):
    build, root = tmp_path / "build", tmp_path / "sid" / "root"
    for file in (build / "cxx", build / "linked", build / "lib" / "libours.so",
                 root / "usr" / "lib" / "x86_64-linux-gnu" / "libj.so.2"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    needed = {str(build / "cxx"): ("libours.so",), str(build / "linked"): ("libm.so.2",)}
    monkeypatch.setattr(trials, "needed_by", needed.__getitem__)
    laboratory = trials.Laboratory(SimpleNamespace(name="sid", gccs=["gcc-16"]), SimpleNamespace(
        root=root, folder=root.parent), None, build, lambda said: None)
    monkeypatch.setattr(laboratory, "command", lambda: build / "bin" / "holdfast")
    monkeypatch.setattr(laboratory, "run_test", lambda test: (test[0], "", 3, ""))

    def outcome(*names):
        tests = {"j": ("cxx", "/usr/lib/x86_64-linux-gnu/libj.so.2"), "m": ("cxx", "/usr/lib/libm.so.2"),
                 "m-linked": ("linked", str(build / "lib" / "libours.so"))}
        monkeypatch.setattr(laboratory, "conformance_tests", lambda short: [
            (name, [str(build / tests[name][0])], {"ENVIRONMENT": [f"LD_PRELOAD={tests[name][1]}"]})
            for name in names])
        return laboratory.conformance(short=True)

    some = outcome("j", "m", "m-linked")
    assert some.passed and some.detail == "1 tests, 3 cases; 2 left out, since there is no libm.so.2"
    assert outcome("j").detail == "1 tests, 3 cases"
    assert not outcome("m").passed


def test_tests_that_are_not_built_are_missed(monkeypatch, tmp_path):
    tests = [{"name": "posix/a/glibc", "command": ["a"]}, {"name": "posix/soak/glibc"}, {"name": "posix/b/glibc"}]
    laboratory = trials.Laboratory(None, None, None, tmp_path, None)
    monkeypatch.setattr(trials.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=json.dumps(
        {"tests": tests})))
    with pytest.raises(trials.ChrootError, match="^1 conformance tests, such as posix/b/glibc, are not built"):
        laboratory.conformance_tests(short=False)
    tests.pop()
    assert [name for name, *_ in laboratory.conformance_tests(short=False)] == ["posix/a/glibc"]


def test_a_build_that_fails_is_told_by_its_first_error():
    linked = "[1/2] Linking\nld: /usr/lib/liba.so: undefined reference to `f'\ncollect2: error: ld returned 1\n[2/2]\n"
    assert trials.first_error(linked) == "liba.so: undefined reference to `f'"
    assert trials.first_error("a\n../src/a.c:1:2: error: no\nb.c:1:2: error: no\n") == "a.c:1:2: error: no"
    assert trials.first_error("cmake\nis missing\n") == "cmake / is missing"


def test_a_run_goes_on_with_what_has_not_passed(tmp_path):
    file, done = tmp_path / "result.json", []

    def run(good, stopped_before=None):
        def trial(name):
            if name == stopped_before:
                raise KeyboardInterrupt
            done.append(name)
            return trials.Outcome(name, name in good, "")

        kept = {"trials": []}
        done.clear()
        names = {name: lambda name=name: trial(name) for name in ("a", "b", "c")}
        for outcome in trials.carry_out(names, trials.passed_in(file, names)):
            kept["trials"].append(outcome.as_json())
            trials.keep(file, trials.with_others(file, kept))
        return list(done)

    with pytest.raises(KeyboardInterrupt):
        run("abc", stopped_before="b")
    assert done == ["a"]
    assert run("ac") == ["b", "c"]
    assert run("abc") == ["b"]
    assert [each["trial"] for each in trials.kept(file)["trials"]] == ["a", "b", "c"]
    assert run("abc") == ["a", "b", "c"]


def test_a_conformance_test_is_judged_as_ctest_does():
    assert not trials.verdict(0, "", None) and not trials.verdict(1, "cond: holdfast", ["cond: h"])
    assert trials.verdict(1, "", None) and trials.verdict(0, "cond: glibc", ["cond: h"])
    assert trials.verdict(0, "ERROR: ld.so: object 'x' from LD_PRELOAD cannot be preloaded: ignored.", None)


@pytest.mark.parametrize("builds, short", [(True, False), (True, True), (False, False)])
def test_the_command_is_built_before_the_tests_that_run_it(builds, short):
    suite = driver().suites()["sid"]
    names = list(trials.of_suite(trials.Laboratory(suite, None, None, None, None), short, builds))
    if builds:
        assert names.index(f"build {suite.gccs[-1]}") < names.index("conformance")
    compilers = builds * (1 if short else len(suite.gccs + suite.clangs))
    assert len(names) == 3 + compilers
    laboratory = trials.Laboratory(suite, None, None, None, None)
    assert len(trials.of_suite(laboratory, short, builds, runs=False)) == compilers
    assert list(trials.of_suite(laboratory, named=["gcc-13", "objects"])) == ["objects", "build gcc-13"]


@pytest.mark.skipif(os.getuid() != 0, reason="mounts need root")
def test_what_runs_in_a_chroot_ends_with_the_driver(tmp_path):
    mark = f"{os.getpid()}.5"
    script = (f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from chroot import Chroot; "
              f"chroot = Chroot('none', {str(tmp_path)!r}); "
              "[(chroot.root / each).mkdir(parents=True) for each in ('run', 'etc')]; "
              f"chroot.run(['sleep', {mark!r}], [path for path in ('/usr', '/bin', '/lib', '/lib64')])")

    def sleeps():
        return subprocess.run(["pgrep", "-f", f"^sleep {mark}"], stdout=subprocess.DEVNULL, check=False).returncode == 0

    def wait_until(condition):
        limit = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < limit
            time.sleep(0.05)

    with subprocess.Popen([sys.executable, "-c", script]) as started:
        wait_until(sleeps)
        started.kill()
    wait_until(lambda: not sleeps())


@pytest.mark.skipif(os.getuid() != 0, reason="mounts need root")
def test_nothing_stays_mounted(tmp_path):
    chroot = Chroot("none", tmp_path)
    chroot.root.mkdir(parents=True)
    for each in ("run", "etc"):
        (chroot.root / each).mkdir()
    before = Path("/proc/self/mounts").read_text()
    status, _ = chroot.run(["true"], [tmp_path])  # there is no shell in it: fails once all is mounted
    assert status != 0
    assert (chroot.root / "proc").is_dir() and not list((chroot.root / "proc").iterdir())
    assert Path("/proc/self/mounts").read_text() == before
