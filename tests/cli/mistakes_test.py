# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the command says to who has mistyped something: one sentence, what is wrong, what to do. And the habits that
people come with: help, version, completion in a shell.

Shown able to fail: without each of the cases in explain() (main.cpp); with names that are all near, and with none
(name_distance.c); with say() as it comes; with create_directories in be_the_only_one; with a completion that leaves an
option out; with an option --program of 'oversub', which has a word of that name.
"""

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, assert_usage_error


@pytest.mark.parametrize("arguments, parts", [
    (["runn"], ["there is no 'runn' to do", "did you mean 'run'?"]),
    (["docotr"], ["did you mean 'doctor'?"]),
    (["mon"], ["did you mean 'monitor'?"]),
    (["frobnicate"], ["there is no 'frobnicate' to do", "holdfast --help"]),
    (["--conf", "mutex"], ["there is no option --conf", "holdfast --help"]),
    (["--versio"], ["there is no option --versio", "did you mean '--version'?"]),
    (["run", "--nope", "--", "true"], ["there is no option --nope", "holdfast run --help"]),
    (["run", "--stat", "--", "true"], ["there is no option --stat", "did you mean '--stats'?"]),
    (["compare", "--round=3", "--", "true"], ["there is no option --round", "did you mean '--rounds'?"]),
    (["monitor", "status", "--jsn"], ["did you mean '--json'?", "holdfast monitor status --help"]),
    (["bench", "shared-memory", "--writers", "3"], ["there is no option --writers", "behind --"]),
    (["top", "everything"], ["'everything' is one word too many"]),
    (["top", "--filter"], ["--filter needs a value: --filter TEXT"]),
    (["top", "--sort"], ["--sort needs a value: --sort KEY"]),
    (["report"], ["FILE... is missing", "holdfast report --help"]),
    (["run", "--lock", "flexgard", "--", "true"], ["no lock 'flexgard': did you mean 'flexguard'? use one of"]),
    (["compare", "--locks", "glibc,blokcing", "--", "true"], ["'blokcing': did you mean 'blocking'?"]),
    (["bench", "coro-mutex", "--locks", "bargin"], ["no coroutine lock 'bargin': did you mean 'barging'?"]),
    (["bench", "shared-memry"], ["there is no workload 'shared-memry': did you mean 'shared-memory'?"]),
    (["run", "--conf", "mutx:mcs", "--", "true"], ["kind of object 'mutx': did you mean 'mutex'?"]),
    (["run", "--conf", "mutex:flexgard", "--", "true"], ["can't be 'flexgard': did you mean 'flexguard'?"]),
    (["run", "--conf", "mutex:u-sc", "--", "true"], ["can't be 'u-sc': did you mean 'u-scl'?"]),
    (["run", "--conf", "mutex:uscl(slce=2ms)", "--", "true"], ["parameter 'slce': did you mean 'slice'?"]),
    (["top", "--sort", "waitng"], ["--sort: it can't be 'waitng': did you mean 'waiting'?"]),
    (["monitor", "--scopes", "user"], ["--scopes: it can't be 'user': did you mean 'users'?"]),
    (["run", "--conf", "mutex", "--", "true"], ["mutex has no lock behind a colon: write mutex:flexguard"]),
    ([], ["there is nothing to do", "holdfast run -- ./server"]),
    ([""], ["there is nothing to do"]),
    (["RUN"], ["there is no 'RUN' to do", "did you mean 'run'?"]),
    (["ru\nn"], ["there is no 'ru\\x0an' to do"]),
    (["help", "runn"], ["there is no 'runn' to do", "did you mean 'run'?"]),
    (["run", "--lock", "mcs", "--lock", "glibc", "--", "true"], ["--lock is given more than once"]),
    (["bench", "shared-memory", "--json", "a", "--resume", "b"], ["--json and --resume exclude each other"]),
    (["compare", "--nope", "-1", "--", "true"], ["there is no option --nope"]),
    (["compare", "--rounds", "--", "true"], ["--rounds needs a value: --rounds N"]),
    (["compare", "--metric", "(a)(b)", "--", "true"], ["has several groups", "(?:...)"]),
    (["completion"], ["SHELL is missing"]),
])
def test_mistakes_are_one_sentence(holdfast, arguments, parts):
    assert_usage_error(holdfast(*arguments), *parts)


@pytest.mark.parametrize("arguments, part", [
    (["help"], "holdfast doctor"), (["help", "run"], "--stats"), (["help", "monitor", "status"], "--json"),
    (["help", "run", "true"], "--stats"),
    (["version"], "holdfast "), (["-V"], "holdfast "), (["-v"], "holdfast "),
    (["bench", "coro-mutex", "--help"], "dispatch"),
])
def test_help_and_version_are_what_people_try(holdfast, arguments, part):
    result = holdfast(*arguments)
    assert result.returncode == 0 and part in result.stdout and not result.stderr


def test_help_of_a_workload_of_coroutines_has_its_own_contenders(holdfast):
    shown = " ".join(holdfast("bench", "coro-mutex", "--help").stdout.split())
    assert "Coroutine locks, separated by commas" in shown and "flexguard" not in shown.split("--threads")[0]
    assert "flexguard" in holdfast("bench", "shared-memory", "--help").stdout


@pytest.mark.parametrize("verb, status", [("run", 126), ("doctor", 126), ("compare", 126)])
def test_what_is_no_program_is_said(holdfast, tmp_path, verb, status):
    directory, text = tmp_path / "directory", tmp_path / "text"
    directory.mkdir()
    text.write_text("hello\n")
    for what, part in [(directory, "it is a directory"), (text, "it is not executable")]:
        result = holdfast(verb, "--", what)
        assert result.returncode == status and part in result.stderr, result
        assert result.stderr.count("\n") == 1


def test_programs_that_lead_nowhere_are_said(holdfast, tmp_path):
    """Shown able to fail: with execvpe alone in become() (launch.cpp), which hands a damaged program to a shell."""
    def made(name, content):
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755)
        return tmp_path / name

    damaged = made("damaged", b"\x7fELF\x02\x01\x01")
    itself = made("itself", b"#!" + bytes(tmp_path / "itself") + b"\n")
    without = made("without", b"#!/no/such/interpreter\n")
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "gone").symlink_to("nowhere")
    for verb, what, part in [
            ("run", damaged, "it is for another machine, or damaged"), ("doctor", damaged, "no ELF program"),
            ("run", itself, "the interpreters that it names lead to no program"),
            ("doctor", itself, "the interpreters that it names lead to no program"),
            ("run", without, "the interpreter that it names is not there"),
            ("doctor", without, "the interpreter that it names, /no/such/interpreter, is not there"),
            ("run", tmp_path / "round", "a link that leads to no file"),
            ("doctor", tmp_path / "round", "a link that leads to no file"),
            ("run", tmp_path / "gone", "a link that leads to no file"),
            ("run", tmp_path / "new\nline", "there is no program '" + str(tmp_path) + "/new\\x0aline'")]:
        result = holdfast(verb, "--", what)
        assert result.returncode == (127 if "there is no" in part else 126) and part in result.stderr, result
        assert result.stderr.count("\n") == 1, result


def test_names_can_not_command_the_terminal(holdfast):
    result = holdfast("run", "--", "no\x1b[2Jsuch\u009bprogram")
    assert result.returncode == 127
    assert "no\\x1b[2Jsuch\\x9bprogram" in result.stderr and "\x1b" not in result.stderr


def test_sockets_are_what_was_named(holdfast, tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("hello\n")
    for arguments in [["monitor", "status", "--socket", plain], ["monitor", "--socket", plain, "status"]]:
        result = holdfast(*arguments)
        assert result.returncode == 1 and f"{plain} is no socket" in result.stderr, result
    ended = tmp_path / "ended.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(ended))
    assert "has ended" in holdfast("monitor", "status", "--socket", ended).stderr
    nowhere = tmp_path / "nowhere.sock"
    assert f"start one by 'holdfast monitor --socket {nowhere}'" in holdfast("monitor", "--socket", nowhere,
                                                                             "status").stderr


@pytest.mark.skipif(os.getuid() != 0, reason="anybody else is refused before")
def test_a_mistyped_directory_is_not_made(holdfast, tmp_path):
    result = holdfast("monitor", "--pins", "", "--socket", tmp_path / "nosuch" / "directory" / "s")
    assert result.returncode == 125 and "there is no directory" in result.stderr
    assert not (tmp_path / "nosuch").exists()


# --- completion

def completed(words):
    """What bash would offer for the last of the words."""
    script = subprocess.run([COMMAND, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    quoted = " ".join(f"'{word}'" for word in words)
    script += f"\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _holdfast; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return set(subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split())


def test_bash_completes(tmp_path):
    assert {"run", "compare", "top", "help"} <= completed(["holdfast", ""])
    assert completed(["holdfast", "mon"]) == {"monitor"}
    assert {"--lock", "--conf", "--stats"} <= completed(["holdfast", "run", "--"])
    assert completed(["holdfast", "run", "--stat"]) == {"--stats"}
    assert {"flexguard", "uscl"} <= completed(["holdfast", "run", "--lock", ""])
    assert completed(["holdfast", "compare", "--locks", "glibc,fl"]) == {"glibc,flexguard"}
    assert completed(["holdfast", "help", "com"]) == {"compare", "completion"}
    assert completed(["holdfast", "monitor", "status", "--j"]) == {"--json"}
    assert completed(["holdfast", "monitor", "stat"]) == {"status"}
    assert completed(["holdfast", "monitor", "--scopes", "us"]) == {"users"}
    assert "shared-memory" in completed(["holdfast", "bench", "sha"])
    (tmp_path / "a-file").write_text("")
    assert completed(["holdfast", "bench", "--json", f"{tmp_path}/a-"]) == {f"{tmp_path}/a-file"}
    assert "true" in completed(["holdfast", "run", "--", "tru"])


# Shown able to fail: without words of `help`; with words that replace a list, not its last item.
@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
def test_fish_completes(tmp_path):
    (tmp_path / "fish" / "completions").mkdir(parents=True)
    with (tmp_path / "fish" / "completions" / "holdfast.fish").open("w") as script:
        subprocess.run([COMMAND, "completion", "fish"], stdout=script, check=True)

    def offered(line):
        result = subprocess.run(["fish", "-c", f"complete -C '{line}'"], capture_output=True, text=True, check=True,
                                env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path),
                                     "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"})
        return {each.split("\t")[0] for each in result.stdout.splitlines()}

    assert {"run", "compare", "top", "help"} <= offered("holdfast ")
    assert {"run", "monitor"} <= offered("holdfast help ") <= offered("holdfast ")
    assert {"glibc,flexguard", "glibc,mcs"} <= offered("holdfast compare --locks glibc,")
    assert "flexguard" in offered("holdfast run --lock ")


# CLI11 leaves empty items out. Shown able to fail: without list_with_empty_item.
@pytest.mark.parametrize("words", [
    ["bench", "shared-memory", "--threads", "1,,2"], ["bench", "shared-memory", "--threads=1,"],
    ["bench", "shared-memory", "--locks", ",", "--threads", "1"], ["bench", "scl-slice", "--slices-us", ",1"],
    ["compare", "--locks", "glibc,,mcs", "--", "true"], ["compare", "--threads", "1,", "true", "{}"],
    ["simulate", "shared-memory", "--threads", "1,,2"], ["report", "--locks", "glibc,", "file.json"],
    ["run", "--conf", "mutex:mcs,,cond:glibc", "--", "true"],
])
def test_an_empty_item_of_a_list_is_refused(holdfast, words):
    assert_usage_error(holdfast(*words), "has an empty item: leave out the comma that is too much")


def test_a_programs_own_lists_are_its_own(holdfast):
    assert holdfast("run", "--", "echo", "--threads", "1,,2").stdout == "--threads 1,,2\n"
    assert holdfast("run", "echo", "--conf", ",").stdout == "--conf ,\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_option_of_each_verb_is_completed(holdfast, shell):
    script = holdfast("completion", shell).stdout
    for verb in ["run", "compare", "bench", "doctor", "monitor", "top", "report"]:
        table = holdfast(verb, "--help").stdout.split("Example")[0]
        for word in [line.split()[0].split(",")[-1] for line in table.splitlines() if line.startswith("  -")]:
            if word.startswith("--") and len(word) > 2 and word[2].isalpha() and "=" not in word:
                name = word.rstrip(".:)")
                assert (f"-l {name[2:]}" if shell == "fish" else name) in script, (verb, name)
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, check=False).returncode == 0


def test_no_option_is_called_like_a_word_of_its_verb(holdfast):
    """CLI11 2.4 and later (Debian 13) end every call of the command when one is; 2.3 (Debian 12) does not."""
    verbs = holdfast("--help").stdout.partition("Subcommands:")[2].partition("Examples:")[0]
    for verb in re.findall(r"^  (\w+) ", verbs, re.MULTILINE):
        words, _, options = holdfast(verb, "--help").stdout.partition("Options:")
        named = set(re.findall(r"^  (\w+) ", words.partition("Positionals:")[2], re.MULTILINE))
        taken = set(re.findall(r"^  .*?--([\w-]+)", options, re.MULTILINE))
        assert "help" in taken and not named & taken, verb
