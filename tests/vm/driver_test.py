# SPDX-License-Identifier: MIT OR Apache-2.0
"""The parts of the driver that need no machine, and a machine that is a script.

Shown able to fail: version_key compares as text; verdict takes a status of 0 with no case passed for good; boot waits
without a deadline; carry_out boots once, or begins anew; cell says nothing of a machine that hung;
any emulator will do; what has passed is asked for again, or a run that has passed goes on for ever; a stopped
machine's columns say yes; what another run has tried is not tried any more; each test is of the last commit; a limit
is the same for any number of CPUs; the page counts among the sources, or nothing does; a guest takes 0.08 s for 008."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import archive
import emulator
import initramfs
import jobs
import kernels
import machine
import matrix
import page
import part
import table
from report import STOPPED, Report

KERNEL = kernels.Kernel("9.9", "amd64", ("nowhere",), True, "linux-image-9.9.*", "a test")


def report_of(text):
    report = Report()
    for line in text.splitlines():
        report.take(line)
    return report


def test_the_newest_package_is_the_one_with_the_highest_numbers():
    names = ["linux-image-6.1.0-9-cloud-amd64", "linux-image-6.1.0-50-cloud-amd64", "linux-image-6.1.0-9-amd64",
             "linux-image-6.12.1-cloud-amd64"]
    assert archive.newest(names, "linux-image-6.1.*-cloud-amd64") == "linux-image-6.1.0-50-cloud-amd64"
    assert archive.newest(names, "linux-image-5.*") is None
    assert archive.newest(["a-6.12.90+deb12-x", "a-6.12.90+deb12.1-x"], "a-*") == "a-6.12.90+deb12.1-x"


def test_the_lists_can_be_read_and_name_no_kernel_or_test_twice():
    for names in ([kernel.name for kernel in kernels.listed()], [command.name for command in jobs.listed()]):
        assert names and len(set(names)) == len(names)
    assert all(kernel.architecture in machine.BOARDS for kernel in kernels.listed())
    assert len(kernels.chosen(["test"], kernels.listed())) == 3
    assert {name for names in page.COLUMNS.values() for name in names} == {each.name for each in jobs.listed()}


def test_kernels_are_chosen_once_each():
    listed = kernels.listed()
    assert kernels.chosen(["all", "6.1"], listed) == listed
    with pytest.raises(KeyError):
        kernels.chosen(["2.4"], listed)


def test_many_cpus_have_a_short_list():
    listed = jobs.listed()
    assert 0 < len(jobs.for_machine(64, [], listed)) < len(jobs.for_machine(8, [], listed))


def test_limits_grow_with_cpus_that_share_one_clock():
    soak = [jobs.for_machine(cpus, ["soak"], jobs.listed())[0].limit_s for cpus in (1, 8, 64)]
    assert soak == [soak[0], soak[0], 8 * soak[0]]


# A guest of one fast CPU is up in less than a tenth of a second.
@pytest.mark.parametrize("uptime, hundredths", [("0.08", "8"), ("0.19", "19"), ("1.00", "100"), ("123.09", "12309")])
def test_a_guest_counts_hundredths_from_its_first_second_on(tmp_path, uptime, hundredths):
    init = (Path(__file__).parent / "guest" / "init").read_text()
    function = init[init.index("now_hundredths() {"):init.index("# One line of the list")]
    (tmp_path / "uptime").write_text(f"{uptime} 0.01\n")
    script = function.replace("/proc/uptime", str(tmp_path / "uptime")) + "now_hundredths"
    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True).stdout.split() == [hundredths]


def test_a_report_tells_what_each_test_came_to():
    report = report_of("""#hf kernel 9.9.1 2
#hf begin good
[ RUN      ] a.b
[  SKIPPED ] a.c (0 ms)
[  PASSED  ] 3 tests.

#hf end good 0 1.50
#hf begin refused
../x.cpp:3: Skipped
may not load BPF
[  SKIPPED ] a.b (0 ms)
[  PASSED  ] 0 tests.
#hf end refused 0 1.00
#hf begin bad
#hf end bad 1 1.00
#hf begin slow
#hf end slow 124 60.00
#hf begin crashed
#hf end crashed 139 1.00
#hf begin panics""")
    report.stop()
    verdicts = {result.name: result.verdict for result in report.results}
    assert verdicts == {
        "good": "passed", "refused": "skipped itself: a.b: may not load BPF", "bad": "failed with status 1",
        "slow": "took longer than its limit (60 s)", "crashed": "ended by signal 11",
        "panics": "not ended: the machine stopped"}
    assert report.release == "9.9.1" and report.cpus == 2 and not report.done
    assert report.results[0].cases == 3 and report.results[0].skipped == ["a.c"]


class FakeMachine:
    """An emulator that is a shell script. Each boot takes the next one."""

    def __init__(self, monkeypatch, tmp_path, *scripts, limit_s=120):
        self.scripts = list(scripts)
        self.laboratory = matrix.Laboratory(tmp_path)
        monkeypatch.setattr(machine, "command_line", lambda *_: ["sh", "-c", self.scripts.pop(0)])
        monkeypatch.setattr(machine, "BOOT_LIMIT_S", limit_s)
        monkeypatch.setattr(machine, "GRACE_S", limit_s)
        monkeypatch.setattr(machine, "SLOWER", 1)
        monkeypatch.setattr(self.laboratory, "emulator_for", lambda plan: None)
        monkeypatch.setattr(self.laboratory, "kernel", lambda plan: kernels.Fetched(Path("none"), "package", "9.9-1"))
        monkeypatch.setattr(self.laboratory, "initrd", self._initrd)
        self.folder = tmp_path
        self.asked_for = []

    def _initrd(self, plan, commands, shell=False):
        self.asked_for.append([command.name for command in commands])
        return self.folder / "initrd"

    def outcome(self):
        commands = [jobs.Command(name, (), 1, "true") for name in ("one", "two")]
        return self.laboratory.carry_out(matrix.Plan(KERNEL, 2), commands)


ONE = "echo '#hf kernel 9.9 2'; echo '#hf begin one'; echo '#hf end one 0 0.1';"
BOTH = ONE + "echo '#hf begin two'; echo '#hf end two 0 0.1'; echo '#hf done';"
PANIC = ONE + "echo '#hf begin two'; exit 1;"
HANG = ONE + "echo '#hf begin two'; exec sleep 1000;"


def test_a_machine_that_reports_all_passes(monkeypatch, tmp_path):
    outcome = FakeMachine(monkeypatch, tmp_path, BOTH).outcome()
    assert outcome.passed and outcome.boots == 1 and outcome.wrong == []


def test_a_failed_test_fails_the_machine_and_is_not_tried_again(monkeypatch, tmp_path):
    outcome = FakeMachine(monkeypatch, tmp_path, BOTH.replace("two 0", "two 1")).outcome()
    assert not outcome.passed and outcome.boots == 1 and outcome.wrong == ["two failed with status 1"]


def test_a_panic_is_tried_once_more_with_what_is_left(monkeypatch, tmp_path):
    fake = FakeMachine(monkeypatch, tmp_path, PANIC, BOTH.replace(ONE, ""))
    outcome = fake.outcome()
    assert outcome.passed and outcome.boots == 2
    assert fake.asked_for == [["one", "two"], ["two"]]


@pytest.mark.parametrize("script, trouble", [(PANIC, "stopped without an exit status"), (HANG, "hung"),
                                             ("exec sleep 1000", "hung")])
def test_a_second_panic_or_hang_fails_the_machine(monkeypatch, tmp_path, script, trouble):
    limit_s = 1 if "sleep" in script else 120  # no other is to be taken for one that hangs
    outcome = FakeMachine(monkeypatch, tmp_path, script, script.replace(ONE, ""), limit_s=limit_s).outcome()
    assert not outcome.passed and outcome.boots == 2 and outcome.wrong[0].startswith(f"the machine {trouble}")
    assert outcome.passed is False and trouble in table.of([outcome])


def says_its_version(path, version):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'QEMU emulator version {version} (Debian 1:{version}+dfsg-1)'\n")
    path.chmod(0o755)


class ArchiveWith:
    """Debian's backports, with a QEMU of that version."""

    def __init__(self, version):
        self.version = version

    def __call__(self, folder, suites, architecture):
        return self

    def update(self):
        if not self.version:
            raise archive.ArchiveError("the archive can't be reached")

    def unpack(self, package, target):
        says_its_version(target / "usr" / "bin" / "qemu-system-x86_64", self.version)


@pytest.mark.parametrize("here, backport, words", [("8.1.0", None, "bin/qemu"),
                                                   ("7.2.22", "10.0.2", "cache/qemu-system-x86_64/usr/bin/qemu")])
def test_the_emulator_is_one_that_divides_time(monkeypatch, tmp_path, here, backport, words):
    says_its_version(tmp_path / "bin" / "qemu-system-x86_64", here)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(emulator, "Archive", ArchiveWith(backport))
    (tmp_path / "cache").mkdir()
    found = emulator.found("qemu-system-x86_64", tmp_path / "cache", "amd64")
    assert found.words[0].startswith(str(tmp_path / words))


@pytest.mark.parametrize("backport, sentence", [(None, "too old here, and no newer one to be had: the archive can't"),
                                                ("7.2.0", "install QEMU 8.1 or newer")])
def test_without_such_an_emulator_one_sentence_says_so(monkeypatch, tmp_path, backport, sentence):
    says_its_version(tmp_path / "bin" / "qemu-system-x86_64", "7.2.22")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(emulator, "Archive", ArchiveWith(backport))
    monkeypatch.delenv("HF_VM_CACHE", raising=False)
    outcome = matrix.Laboratory(tmp_path).carry_out(matrix.Plan(KERNEL, 2), [])
    assert sentence in outcome.unavailable and len(outcome.wrong) == 1


def test_a_run_that_was_stopped_goes_on_with_what_has_not_passed(monkeypatch, tmp_path):
    fake = FakeMachine(monkeypatch, tmp_path, BOTH.replace("two 0", "two 1"), BOTH.replace(ONE, ""), BOTH)
    commands = [jobs.Command(name, ("every",), 1, "true") for name in ("one", "two")]
    monkeypatch.setattr(jobs, "listed", lambda: commands)
    plans, kept = [matrix.Plan(KERNEL, 2)], []
    for asked_for in (["one", "two"], ["two"], ["one", "two"]):
        run, passed = fake.laboratory.stopped_run(plans)
        outcome = matrix.run_all(fake.laboratory, plans, [], 1, passed, lambda got: fake.laboratory.keep(got, run))[0]
        assert fake.asked_for[-1] == asked_for and [result.name for result in outcome.results] == ["one", "two"]
        kept.append((run, outcome.passed))
    assert [passed for _, passed in kept] == [False, True, True]
    assert kept[0][0] == kept[1][0] < kept[2][0]


def test_tests_that_are_named_take_their_place_in_the_run(monkeypatch, tmp_path):
    fake = FakeMachine(monkeypatch, tmp_path, ONE + "echo '#hf done'", BOTH.replace(ONE, ""))
    commands = [jobs.Command(name, ("every",), 1, "true") for name in ("one", "two")]
    monkeypatch.setattr(jobs, "listed", lambda: commands)
    plans, passed = [matrix.Plan(KERNEL, 2)], []
    for names in (["one"], []):
        run, before = fake.laboratory.stopped_run(plans)
        matrix.run_all(fake.laboratory, plans, names, 1, before, lambda got: fake.laboratory.keep(got, run))
        passed.append(fake.laboratory.kept(plans)[0]["passed"])
    assert fake.asked_for == [["one"], ["two"]] and passed == [False, True]


def test_each_test_is_kept_when_it_ends(monkeypatch, tmp_path):
    laboratory, kept = FakeMachine(monkeypatch, tmp_path, HANG, HANG.replace(ONE, ""), limit_s=5).laboratory, []
    commands = [jobs.Command(name, ("every",), 1, "true") for name in ("one", "two")]
    monkeypatch.setattr(jobs, "listed", lambda: commands)
    matrix.run_all(laboratory, [matrix.Plan(KERNEL, 2)], [], 1, None, lambda got: kept.append(got.as_json()))
    assert [test["name"] for test in kept[0]["tests"]] == ["one"] and not kept[0]["passed"]


def machine_of(**changed):
    tests = [{"name": each.name, "verdict": "passed", "skipped": [], "commit": "abc1234"} for each in jobs.listed()]
    tests[0]["output"] = ['{"capabilities": {"sched_ext": {"present": true, "detail": ""},',
                          ' "slice_extension": {"present": false, "detail": "EINVAL"}}}']
    return {"kernel": "9.9", "version": "9.9-1", "cpus": 2, "stands_for": "a test", "trouble": "", "unavailable": "",
            "tests": tests, **changed}


def page_of(*machines, before=f"before\n{page.BEGIN}\nold\n{part.END}\nafter <!-- end -->\n"):
    return part.with_rows(before, page.BEGIN, list(map(page.row, machines)), page.KEYS, page.legend())


def test_the_page_has_no_empty_cell_and_keeps_what_belongs_to_others():
    failed = [{"name": "quota", "verdict": "failed with status 1", "skipped": [], "commit": "abc1234"}]
    text = page_of(machine_of(), machine_of(tests=failed, trouble="hung"),
                   machine_of(unavailable="no kernel", tests=[]), machine_of(tests=failed, cpus=64),
                   machine_of(tests=machine_of()["tests"][:1], trouble=STOPPED))
    assert text.startswith("before\n") and text.endswith("after <!-- end -->\n") and "old" not in text
    rows = [line for line in text.splitlines() if line.startswith("| 9.9")]
    assert len(rows) == 5 and all(cell.strip() for row in rows for cell in row.strip("|").split("|"))
    assert rows[0].count("yes") == len(page.COLUMNS) + 1 and "not tried (" in rows[2]
    assert rows[1].count("no (") == len(page.COLUMNS)
    assert rows[4].count("yes") == 1 and rows[4].count("not tried (") == len(page.COLUMNS)
    assert rows[0].endswith("| abc1234 |") and rows[2].endswith("| not tried |")
    with pytest.raises(ValueError):
        page_of(machine_of(), before="no marks")


def test_what_was_not_tried_here_is_as_the_page_had_it():
    quota = [{"name": "quota", "verdict": "passed", "skipped": ["a.b: no CPU 1"], "commit": "1111111"}]
    first = page_of(machine_of(tests=quota, trouble=STOPPED), machine_of(kernel="9.8"))
    soak = [{"name": name, "verdict": "passed", "skipped": [], "commit": "2222222"}
            for name in ("soak", *page.COLUMNS["oversubscription"])]
    second = page_of(machine_of(tests=soak, trouble=STOPPED, version="9.9-2"), machine_of(
        kernel="9.8", tests=[], version="", unavailable="not run yet"), before=first)
    row, other = [line for line in second.splitlines() if line.startswith("| 9.")]
    assert row.startswith("| 9.9 | 9.9-2 |") and row.count("| yes") == 3 and row.endswith("| 1111111, 2222222 |")
    assert "`a.b` skips itself: no CPU 1" in second
    assert other.startswith("| 9.8 | 9.9-1 |") and other.count("| yes") == len(page.COLUMNS) + 1
    assert other.endswith("| abc1234 |")
    third = page_of(machine_of(tests=soak + [{**soak[0], "name": "run"}], trouble=STOPPED), before=second)
    assert "`run` passed, the run was stopped before `commit_limit`" in third and third.count("skips itself") == 1
    untried = [machine_of(kernel=name, tests=[], version="", unavailable="not run yet") for name in ("9.9", "9.8")]
    assert page_of(*untried, before=second) == second


def test_cases_that_skip_themselves_for_the_same_reason_have_one_remark():
    scopes = [{"name": "scopes", "verdict": "passed", "commit": "abc1234",
               "skipped": ["a.b: needs CPUs 0 and 1", "a.c: needs CPUs 0 and 1", "a.d: refused"]}]
    text = page_of(machine_of(tests=scopes, trouble=STOPPED))
    assert re.search(r"^\d+\. `a.b`, `a.c` skip themselves: needs CPUs 0 and 1$", text, re.MULTILINE)
    assert re.search(r"^\d+\. `a.d` skips itself: refused$", text, re.MULTILINE)


def test_a_test_is_of_the_commit_that_it_ran_at(monkeypatch, tmp_path):
    fake = FakeMachine(monkeypatch, tmp_path, BOTH.replace("two 0", "two 1"), BOTH.replace(ONE, ""))
    commands = [jobs.Command(name, ("every",), 1, "true") for name in ("one", "two")]
    monkeypatch.setattr(jobs, "listed", lambda: commands)
    plans = [matrix.Plan(KERNEL, 2)]
    for commit in ("1111111", "2222222"):
        fake.laboratory.commit = commit
        run, before = fake.laboratory.stopped_run(plans)
        matrix.run_all(fake.laboratory, plans, [], 1, before, lambda got: fake.laboratory.keep(got, run))
    assert [test["commit"] for test in fake.laboratory.kept(plans)[0]["tests"]] == ["1111111", "2222222"]


def test_the_page_that_a_run_has_written_does_not_change_what_is_tried(tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e", *words], check=True,
                       capture_output=True)

    git("init")
    sheet, source = tmp_path / part.PAGE, tmp_path / "source.c"
    sheet.parent.mkdir()
    for file in (sheet, source):
        file.write_text("as it is committed\n")
    git("add", ".")
    git("commit", "-m", "first")
    commit = part.commit_of(tmp_path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d [0-9a-f]{7,}", commit)
    sheet.write_text("rows\n")
    assert part.commit_of(tmp_path) == commit
    source.write_text("changed\n")
    assert part.commit_of(tmp_path) == f"{commit}-dirty"
    sheet.write_text("as it is committed\n")
    assert part.commit_of(tmp_path) == f"{commit}-dirty"


def test_a_program_that_is_not_built_is_missed_before_the_boot(tmp_path):
    laboratory = matrix.Laboratory(tmp_path)
    build = tmp_path / "release"
    for name in matrix.ALWAYS:
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        (build / name).touch()
    there, missing = jobs.parse("doctor every 1 holdfast doctor\ncount every 1 monitor_count_test --fast\n")
    assert laboratory.programs(build, [there, jobs.by_hand("cat /proc/version")]) == sorted(matrix.ALWAYS)
    with pytest.raises(matrix.Unavailable, match="monitor_count_test"):
        laboratory.programs(build, [there, missing])


def test_a_system_keeps_its_rights_times_and_links_but_not_what_its_guest_makes(tmp_path):
    system = tmp_path / "system"
    for name in ("etc", "proc/1", "usr/share/doc/x"):
        (system / name).mkdir(parents=True)
    (system / "etc" / "run-me").write_text("#!/bin/sh\n")
    (system / "etc" / "run-me").chmod(0o750)
    os.utime(system / "etc" / "run-me", (1, 1234567))
    (system / "etc" / "same").symlink_to("run-me")
    with open(tmp_path / "archive", "wb") as file:
        initramfs.write_system(file, system)
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    subprocess.run(["busybox", "cpio", "-idm"], stdin=open(tmp_path / "archive", "rb"), cwd=unpacked, check=True,
                   capture_output=True)
    there = unpacked / "system"
    assert (there / "etc" / "run-me").stat().st_mode & 0o777 == 0o750
    assert (there / "etc" / "run-me").stat().st_mtime == 1234567
    assert (there / "etc" / "same").readlink() == Path("run-me")
    assert list((there / "proc").iterdir()) == list((there / "usr" / "share" / "doc").iterdir()) == []
