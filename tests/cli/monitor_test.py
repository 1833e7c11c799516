# SPDX-License-Identifier: MIT OR Apache-2.0
"""holdfast monitor: a service that programs find, that says how it is, and that ends without a trace."""

import http.client
import json
import os
import re
import shutil
import signal
import socket as sockets
import subprocess
import textwrap
import time
import urllib.request
from pathlib import Path

import pytest

from conftest import COMMAND, INTERPOSER, PROGRAMS, assert_usage_error, needs_two_cpus, wait_until, without_rights

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the monitor needs root")


@pytest.fixture
def socket(tmp_path):
    for directory in [tmp_path, *tmp_path.parents][:3]:
        directory.chmod(0o755)
    return tmp_path / "run" / "monitor.sock"


@pytest.fixture
def start_service(start_holdfast, socket):
    def start(*options, as_what=()):
        process = start_holdfast("monitor", "--socket", socket, "--pins", "", *options, as_what=as_what)
        wait_until(lambda: process.poll() is not None or status(socket)["state"] == "running")
        return process

    return start


def status(socket, *as_what):
    command = [*as_what, COMMAND, "monitor", "status", "--json", "--socket", socket]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    told = json.loads(result.stdout)
    assert result.returncode == (0 if told["state"] == "running" else 1)
    return told


@pytest.mark.parametrize("is_abstract", [False, True])
def test_tells_the_service_manager_how_far_it_is(start_service, tmp_path, is_abstract):
    """As sd_notify(3) has it, of a socket with a name in the file system, or without."""
    name = f"{'@' if is_abstract else ''}{tmp_path}/notify"
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_DGRAM) as manager:
        manager.bind(name.replace("@", "\0"))
        manager.settimeout(100)
        service = start_service(as_what=["env", f"NOTIFY_SOCKET={name}"])
        assert manager.recv(100) == b"READY=1"
        service.send_signal(signal.SIGTERM)
        assert manager.recv(100) == b"STOPPING=1"


@pytest.mark.parametrize("name", ["", "/", "@", "vsock:1:2", "/nobody/listens", "/" + 200 * "x"])
def test_has_no_service_manager_to_tell(start_service, socket, name):
    start_service(as_what=["env", f"NOTIFY_SOCKET={name}"])
    assert status(socket)["state"] == "running"


def free_address():
    with sockets.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def figures_at(address):
    """What Prometheus would read there: the service has opened its socket a little before."""

    def page():
        try:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
                text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            return None
        return text if "holdfast_build_info" in text else None

    return wait_until(page)


def environment(socket):
    return {**os.environ, "HOLDFAST_SOCKET": str(socket)}


def test_tells_how_it_is_and_ends_when_told(start_service, socket):
    service = start_service()
    told = status(socket)
    for name in ["preempted_critical_sections", "preemptions_total", "repairs", "registered_processes"]:
        assert told[name] == 0, name
    assert told["uptime_s"] >= 0 and told["version"]
    assert [scope["scope"] for scope in told["scopes"]] == [0]
    assert socket.stat().st_mode & 0o777 == 0o666
    command = [COMMAND, "monitor", "status", "--socket", socket]
    text = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "registered processes" in text.stdout
    service.send_signal(signal.SIGTERM)
    assert service.wait(timeout=120) == 0
    assert not socket.exists()
    assert service.stderr.read() == f"holdfast monitor: ready on {socket}\n"
    assert status(socket)["state"] == "absent"


def test_programs_use_it(holdfast, start_service, socket):
    start_service()
    lock_much = ("import threading as t\nx=t.Lock()\ndef f():\n for _ in range(20000):\n  with x: pass\n"
                 "a=[t.Thread(target=f) for _ in range(8)]\n[i.start() for i in a]\n[i.join() for i in a]")
    result = holdfast("run", "--stats", "--", "/usr/bin/python3", "-c", lock_much, env=environment(socket))
    assert result.returncode == 0 and "monitor: the service" in result.stderr
    assert "of all programs on this machine meanwhile:" in result.stderr
    assert status(socket)["registrations_total"] >= 1
    doctor = holdfast("doctor", "--json", env=environment(socket))
    assert doctor.returncode == 0 and json.loads(doctor.stdout)["mode"] == "service"


def test_programs_need_no_rights(installed_for_all, start_service, socket):
    start_service()
    command = without_rights(installed_for_all, "run", "--stats", "--", "true")
    result = subprocess.run(command, env=environment(socket), capture_output=True, text=True, check=True)
    assert "monitor: the service" in result.stderr
    assert status(socket, *without_rights())["registrations_total"] == 1


def test_needs_two_capabilities_and_no_more(installed_for_all, start_service, socket):
    start_service(as_what=["setpriv", "--bounding-set=-all,+bpf,+perfmon"])
    command = without_rights(installed_for_all, "run", "--", "true")
    subprocess.run(command, env=environment(socket), check=True)
    told = status(socket)
    assert told["state"] == "running" and told["registrations_total"] == 1 and told["refusals_total"] == 0


def test_serves_a_group_alone(start_service, socket):
    start_service("--group", "daemon")
    assert socket.stat().st_mode & 0o777 == 0o660
    assert status(socket, *without_rights())["state"] == "forbidden"
    in_group = ["setpriv", "--reuid=65534", "--regid=daemon", "--clear-groups"]
    assert status(socket, *in_group)["state"] == "running"


def test_there_is_one_for_a_socket(start_service, socket):
    first = start_service()
    second = start_service()
    assert second.wait(timeout=120) == 125
    assert second.stderr.read() == (f"holdfast: a service runs on {socket} already: see 'holdfast monitor status'\n")
    assert first.poll() is None and status(socket)["state"] == "running"


def test_removes_nothing_but_a_socket(holdfast, tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("kept")
    link.symlink_to(file)
    for path in (file, link, tmp_path):
        result = holdfast("monitor", "--pins", "", "--socket", path)
        assert (result.returncode, result.stderr) == (
            125, f"holdfast: {path} is no socket: remove it, or choose another path for programs to register on\n")
    assert file.read_text() == "kept"
    assert link.is_symlink()


# Shown able to fail: with create_directories first (monitor_pins), which left them there.
def test_pins_elsewhere_make_nothing(start_holdfast, tmp_path):
    socket, pins = tmp_path / "socket", tmp_path / "no" / "pins"
    service = start_holdfast("monitor", "--socket", socket, "--pins", pins)
    said = service.stderr.readline() + service.stderr.readline()
    assert f"{pins} is in no BPF file system: mount -t bpf bpf /sys/fs/bpf" in said, said
    assert not pins.parent.exists()
    service.terminate()
    assert service.wait() in (0, -15)


def test_one_that_ends_takes_its_pins_away(tmp_path):
    """Also one that can't begin. Shown able to fail: unpin() behind the loop of `serve` alone, not reached when
    the socket can't be made."""
    (tmp_path / "file").touch()
    script = textwrap.dedent("""
        mkdir bpf && mount -t bpf bpf bpf || exit 77
        "$1" monitor --socket file --pins bpf/holdfast
        echo "could not begin: $?, pins:" $(ls bpf/holdfast)
        "$1" monitor --socket "$PWD/socket" --pins bpf/holdfast &
        until "$1" monitor status --socket "$PWD/socket" >status; do sleep 0.1; done
        echo "at work, pins:" $(ls bpf/holdfast)
        kill $!
        wait $!
        echo "ended: $?, pins:" $(ls bpf/holdfast)
    """)
    result = subprocess.run(["unshare", "--mount", "--kill-child", "--fork", "sh", "-c", script, "sh", COMMAND],
                            cwd=tmp_path, capture_output=True, text=True, timeout=250, check=False)
    if result.returncode == 77 or "unshare failed" in result.stderr:
        pytest.skip("no mount of our own: " + result.stderr)
    assert result.stdout == ("could not begin: 125, pins:\nat work, pins: followed hint\nended: 0, pins:\n"), result


def test_killed_it_is_dead_and_can_be_started_again(holdfast, start_service, socket):
    service = start_service()
    service.kill()
    service.wait()
    told = status(socket)
    assert told["state"] == "dead" and "start it again" in told["detail"]
    doctor = holdfast("doctor", env=environment(socket)).stdout
    assert "service: dead" in doctor and "look for it again" in doctor
    result = holdfast("run", "--stats", "--", "true", env=environment(socket))
    assert result.returncode == 0 and "monitor: on" in result.stderr, "the command loads one of its own"
    start_service()
    assert status(socket)["state"] == "running"


@needs_two_cpus
def test_a_program_runs_on_without_it(start_service, socket):
    service = start_service()
    interposed = {**environment(socket), "LD_PRELOAD": str(COMMAND.parent.parent / "lib" / "libholdfast-preload.so")}
    lock_for_long = ("import sys, threading as t, time\n"
                     "x = t.Lock()\n"
                     "end = []\n"
                     "def f():\n while not end or time.time() < end[0]:\n  with x: pass\n"
                     "a = [t.Thread(target=f) for _ in range(8)]\n"
                     "[i.start() for i in a]\n"
                     "sys.stdin.read()\n"
                     "end.append(time.time() + 2)\n"
                     "[i.join() for i in a]\n"
                     "print('fine')")
    with subprocess.Popen(["/usr/bin/python3", "-c", lock_for_long], env=interposed, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        wait_until(lambda: status(socket).get("registered_processes") == 1)
        service.kill()
        assert program.communicate(timeout=120)[0] == "fine\n" and program.returncode == 0  # it goes on for 2 s


# Waits for locks again and again, and says what comes over its standard input; ends with it.
WAITS = ("import threading as t, sys, time\n"
         "x = t.Lock()\n"
         "def f():\n while True:\n  with x: time.sleep(0.001)\n"
         "for _ in range(3): t.Thread(target=f, daemon=True).start()\n"
         "print('started', flush=True)\nsys.stdin.read()\n")


@pytest.fixture
def start_waiting(socket):
    started = []

    def start(code=WAITS):
        interposed = {**environment(socket), "LD_PRELOAD": str(INTERPOSER)}
        program = subprocess.Popen(["/usr/bin/python3", "-c", code], env=interposed, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        started.append(program)
        assert program.stdout.readline() == "started\n"
        return program

    yield start
    for program in started:
        program.kill()
        program.communicate()


# Threads of an earlier constructor spin for a mutex when the interposer's begins (early_threads_test.c).
@pytest.mark.parametrize("lock", ["flexguard", "ttas", "mcs", "uscl"])
def test_mutexes_do_not_change_hands_at_the_start(start_service, socket, lock):
    start_service()
    interposed = {**environment(socket), "LD_PRELOAD": str(INTERPOSER), "HOLDFAST_CONF": f"mutex:{lock}"}
    assert subprocess.run([os.environ["EARLY_THREADS"], "pair", "20"], env=interposed, check=False).returncode == 0


# These two were shown able to fail without the call of hf_register_later.
@needs_two_cpus
def test_a_program_finds_a_service_that_starts_after_it(start_service, start_waiting, socket):
    program = start_waiting()
    start_service()
    wait_until(lambda: status(socket).get("registered_processes") == 1)
    assert program.poll() is None


@needs_two_cpus
def test_a_program_finds_a_service_that_was_stopped_when_it_started(start_service, start_waiting, socket):
    service = start_service()
    service.send_signal(signal.SIGSTOP)
    program = start_waiting()
    service.send_signal(signal.SIGCONT)
    assert status(socket)["registrations_total"] <= 1  # what was asked for then is answered to nobody
    wait_until(lambda: status(socket).get("registered_processes") == 1)
    assert program.poll() is None


# A filter that kills who asks for a socket. Shown able to fail without hf_register_never before it stands.
def test_a_program_in_a_sandbox_does_not_look_for_one(start_waiting, socket):
    socket_call = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
    sandbox = ("import ctypes, struct\n"
               f"code = [(0x20, 0, 0, 0), (0x15, 0, 1, {socket_call}), (6, 0, 0, 0x80000000), (6, 0, 0, 0x7fff0000)]\n"
               "filter = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *each) for each in code))\n"
               "program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(code), ctypes.addressof(filter)))\n"
               "prctl = ctypes.CDLL(None).prctl\n"
               "assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0\n")
    program = start_waiting(sandbox + WAITS.replace("sys.stdin.read()", "time.sleep(4)"))
    assert program.wait(timeout=120) == 0


# Shown able to fail without hf_note_monitor in try_to_register.
def test_stats_tell_who_met_the_service_later(holdfast, start_service, socket):
    service = start_service()
    program = ("import os, threading as t, time\n"
               "x = t.Lock()\n"
               "rounds = [0, 0, 0]\n"
               "def f(i):\n while True:\n  with x: time.sleep(0.001)\n  rounds[i] += 1\n"
               "for i in range(3): t.Thread(target=f, args=(i,), daemon=True).start()\n"
               f"os.kill({service.pid}, {signal.SIGCONT.value})\n"
               "while 'bpf-map' not in open('/proc/self/maps').read(): time.sleep(0.01)\n"
               "before = list(rounds)\n"  # the thread that has met it may not have noted it yet
               "while any(now < then + 2 for now, then in zip(rounds, before)): time.sleep(0.01)\n")
    stop = (f"kill -STOP {service.pid}; "  # each of its threads, by and by
            f"while grep -L 'State:.[T]' /proc/{service.pid}/task/*/status | grep -q .; do sleep 0.01; done; ")
    result = holdfast("run", "--stats", "--", "sh", "-c", stop + 'exec /usr/bin/python3 -c "$0"', program,
                      env=environment(socket))
    assert result.returncode == 0, result.stderr
    # grep and sleep met none either
    assert re.search(r"processes that met no monitor when they started: \d+, of which 1 met it later", result.stderr)


def test_prometheus_can_read_its_figures(start_holdfast, start_service, socket):
    address = free_address()
    service = start_service("--metrics", address)
    told = status(socket)
    text = figures_at(address)
    no_figures = {"state", "socket", "detail", "version", "uptime_s", "repairs", "scopes", "left_out"}
    for name in set(told) - no_figures | {"repairs_total"}:
        kind = "counter" if name.endswith("_total") else "gauge"
        assert f"# TYPE holdfast_{name} {kind}\nholdfast_{name} " in text
    assert f'holdfast_build_info{{version="{told["version"]}"}} 1' in text
    dashboard = json.loads((Path(__file__).parents[2] / "packaging/grafana/holdfast.json").read_text())
    shown = set(re.findall(r"holdfast_\w+", json.dumps([panel["targets"] for panel in dashboard["panels"]])))
    assert shown and all(f"# TYPE {name} " in text for name in shown)
    second = start_holdfast("monitor", "--socket", str(socket) + "2", "--pins", "", "--metrics", address)
    assert second.wait(timeout=120) == 125 and address in second.stderr.read()
    service.terminate()
    assert service.wait(timeout=120) == 0


def told_of(text, metric, program):
    found = re.search(rf'^{metric}{{program="{re.escape(program)}"}} (.*)$', text, re.MULTILINE)
    return float(found.group(1)) if found else None


@pytest.fixture
def start_contended(socket, tmp_path):
    """Starts a program whose threads wait for locks, under that name."""
    started = []

    def start(name):
        place = tmp_path / name
        shutil.copy(PROGRAMS / "pthread-objects", place)
        interposed = {**environment(socket), "LD_PRELOAD": str(INTERPOSER)}
        started.append(subprocess.Popen([place, "--object", "cond-queue", "--threads", "8", "--seconds", "200"],
                                        env=interposed, stdout=subprocess.DEVNULL))
        return started[-1]

    yield start
    for program in started:
        program.kill()
        program.wait()


# Shown able to fail: with sums of the processes that are there alone (they fall when one ends).
def test_prometheus_can_read_what_programs_wait_for(start_service, start_contended, socket):
    address = free_address()
    start_service("--metrics", address)
    programs = [start_contended("waits"), start_contended('no"na\nme\u20ac')]
    programs.append(subprocess.Popen(programs[0].args, env={**environment(socket), "LD_PRELOAD": str(INTERPOSER)},
                                     stdout=subprocess.DEVNULL))
    try:
        wait_until(lambda: told_of(figures_at(address), "holdfast_program_processes", "waits") == 2)
        wait_until(lambda: (told_of(figures_at(address), "holdfast_program_sleeps_total", "waits") or 0) > 50)
        wait_until(lambda: told_of(figures_at(address), "holdfast_program_contended_total", 'no\\"na?me???'))
        text = figures_at(address)
    finally:
        for one in programs:
            one.kill()
            one.wait()
    names = ["acquisitions_total", "contended_total", "sleeps_total", "waited_seconds_total"]
    before = {name: told_of(text, f"holdfast_program_{name}", "waits") for name in names}
    assert before["acquisitions_total"] >= before["contended_total"] > 0 and before["waited_seconds_total"] > 0
    assert 0 <= told_of(text, "holdfast_program_waiting_threads", "waits") <= 18
    wait_until(lambda: told_of(figures_at(address), "holdfast_program_processes", "waits") == 0)
    text = figures_at(address)
    for name in names:
        assert told_of(text, f"holdfast_program_{name}", "waits") >= before[name], name
    alerts = (Path(__file__).parents[2] / "packaging/prometheus/holdfast.rules.yml").read_text()
    asked_for = set(re.findall(r"holdfast_\w+", "".join(re.findall(r"expr: .*", alerts))))
    assert asked_for and all(f"# TYPE {name} " in text for name in asked_for)
    assert all(line.startswith(("holdfast_", "# HELP holdfast_", "# TYPE holdfast_")) for line in text.splitlines())


# Shown able to fail: with absent() alone, which says nothing of one monitor of two.
@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool, of the package prometheus")
def test_alerts_come_when_they_should():
    cases = Path(__file__).parents[2] / "packaging/prometheus/holdfast.rules.test.yml"
    result = subprocess.run(["promtool", "test", "rules", cases], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_figures_of_programs_are_bounded(start_service, start_contended):
    address = free_address()
    start_service("--metrics", address, "--metrics-programs", 1)
    start_contended("first")
    wait_until(lambda: told_of(figures_at(address), "holdfast_program_processes", "first"))
    for name in ["second", "third"]:
        start_contended(name)
    wait_until(lambda: told_of(figures_at(address), "holdfast_program_processes", "all other programs") == 2)
    assert set(re.findall('program="(.*)"', figures_at(address))) == {"first", "all other programs"}


@needs_two_cpus
def test_figures_are_of_no_program_when_told_so(start_service, start_contended, socket):
    address = free_address()
    start_service("--metrics", address, "--metrics-programs", 0)
    start_contended("first")
    wait_until(lambda: status(socket).get("registered_processes") == 1)
    assert "program=" not in figures_at(address)


# Shown able to fail: without an end of a visit (receive): it waits for the first of them for ever.
def test_the_endpoint_takes_any_visitor(start_service, socket):
    address = free_address()
    start_service("--metrics", address)
    figures_at(address)
    host, port = address.split(":")
    silent = sockets.create_connection((host, int(port)))

    def answer(request):
        with sockets.create_connection((host, int(port)), timeout=60) as visitor:
            got = b""
            try:
                visitor.sendall(request)
                while more := visitor.recv(65536):
                    got += more
            except (BrokenPipeError, ConnectionResetError):
                pass
            return got

    assert answer(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"holdfast_uptime_seconds" not in answer(b"HEAD /metrics HTTP/1.1\r\n\r\n")
    assert answer(b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 404 ")
    assert answer(b"POST /metrics HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 405 ")
    assert answer(b"\r\n\r\n") == b""
    assert answer(b"x" * 100_000) == b""
    silent.close()
    assert b"holdfast_uptime_seconds" in answer(b"GET /metrics?x=1 HTTP/1.0\r\n\r\n")


def test_says_as_much_as_it_is_told_to(start_service, socket):
    for level, lines in [("warning", ""), ("info", f"holdfast monitor: ready on {socket}\n")]:
        service = start_service("--log-level", level)
        service.terminate()
        assert service.wait(timeout=120) == 0 and service.stderr.read() == lines
    service = start_service("--log-level", "debug")
    wait_until(lambda: "0 registrations" in service.stderr.readline())


# As systemd.exec(5) has it, of what goes to the journal.
def test_lines_for_the_journal_have_priorities(socket, tmp_path):
    log = tmp_path / "log"
    with log.open("w") as stderr:
        about = os.fstat(stderr.fileno())
        environment_of_service = {**os.environ, "JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino}"}
        with subprocess.Popen([COMMAND, "monitor", "--socket", socket, "--pins", ""], stderr=stderr,
                              env=environment_of_service) as service:
            wait_until(lambda: status(socket)["state"] == "running")
            service.terminate()
    assert log.read_text() == f"<6>holdfast monitor: ready on {socket}\n"


# Shown able to fail: seen by the release before, which left a directory and the lock's file.
def test_leaves_nothing_where_it_was_not(start_service, start_holdfast, socket):
    address = free_address()
    host, port = address.split(":")
    with sockets.create_server((host, int(port))):
        refused = start_holdfast("monitor", "--socket", socket, "--pins", "", "--metrics", address)
        assert refused.wait(timeout=120) == 125 and not socket.parent.exists()
    service = start_service()
    service.terminate()
    assert service.wait(timeout=120) == 0 and not socket.parent.exists()
    socket.parent.mkdir()
    service = start_service()
    service.terminate()
    assert service.wait(timeout=120) == 0 and not list(socket.parent.iterdir())


@needs_two_cpus
def test_programs_of_other_cpus_have_scopes_of_their_own(start_service, socket):
    if not {0, 1} <= os.sched_getaffinity(0):
        pytest.skip("needs CPUs 0 and 1")
    address = free_address()
    start_service("--metrics", address)
    interposed = {**environment(socket), "LD_PRELOAD": str(COMMAND.parent.parent / "lib" / "libholdfast-preload.so")}
    programs = []
    try:
        for cpu in [0, 1]:
            programs.append(subprocess.Popen(["sleep", "600"], env=interposed))
            wait_until(lambda: status(socket)["registered_processes"] == len(programs))
            os.sched_setaffinity(programs[-1].pid, [cpu])
        wait_until(lambda: len(status(socket)["scopes"]) == 3)
        scopes = {scope["cpus"]: scope for scope in status(socket)["scopes"]}
        assert set(scopes) == {"", "0", "1"}
        assert scopes["0"]["registered_processes"] == scopes["1"]["registered_processes"] == 1
        text = figures_at(address)
        for scope in scopes.values():
            label = f'scope="{scope["scope"]}"'
            assert f'holdfast_scope_info{{{label},cpus="{scope["cpus"]}"}} 1' in text
            assert f'holdfast_scope_registered_processes{{{label}}} {scope["registered_processes"]}' in text
            assert f'holdfast_scope_preemptions_total{{{label}}} ' in text
        table = subprocess.run([COMMAND, "monitor", "status", "--socket", socket], capture_output=True, text=True,
                               check=True).stdout
        assert re.search(r"^  machine +0 ", table, re.MULTILINE)
    finally:
        for program in programs:
            program.kill()
            program.wait()


@needs_two_cpus
def test_a_program_on_one_cpu_is_not_followed_until_it_has_another(start_service, socket):
    """Shown able to fail: with hf_register that asks at once."""
    start_service()
    allowed = os.sched_getaffinity(0)
    with subprocess.Popen(["taskset", "-c", str(min(allowed)), PROGRAMS / "pthread-objects", "--object", "mutex",
                           "--threads", "8", "--inside", "5000", "--seconds", "300"],
                          env={**environment(socket), "LD_PRELOAD": str(INTERPOSER)}) as program:
        try:
            wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/task")) > 8)
            time.sleep(2)
            assert status(socket)["registered_processes"] == 0
            for thread in os.listdir(f"/proc/{program.pid}/task"):
                os.sched_setaffinity(int(thread), allowed)
            wait_until(lambda: status(socket)["registered_processes"] == 1)
        finally:
            program.kill()


def test_mistakes_are_one_sentence(holdfast, start_service, socket):
    assert_usage_error(holdfast("monitor", "--group", "no-such-group"))
    assert_usage_error(holdfast("monitor", "--processes-of-a-user", "0"))
    assert_usage_error(holdfast("monitor", "now"))
    assert_usage_error(holdfast("monitor", "--scopes", "nobody"))
    result = holdfast("monitor", "--socket", "/proc/no/monitor.sock")
    assert result.returncode == 125 and result.stderr.count("\n") == 1
    without_bpf = start_service(as_what=["setpriv", "--bounding-set=-all"])
    assert without_bpf.wait(timeout=120) == 125
    assert "CAP_BPF and CAP_PERFMON" in without_bpf.stderr.read()
