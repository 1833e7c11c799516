# SPDX-License-Identifier: MIT OR Apache-2.0
"""memcached-open-loop, against a server of the test's own that keeps to memcached's protocol.

Shown able to fail: a server whose values are others (below); a generator that waits for each answer before it sends the
next request, and counts from then on: one request shows what 100 do.
"""

import re
import subprocess
import threading
import time
from socket import create_server

import pytest
from conftest import PROGRAMS

LOAD = PROGRAMS / "memcached-open-loop"


def serve(listener, hold_s, damage):
    """One connection: answers each request, the 300th GET only after hold_s."""
    connection, _ = listener.accept()
    values, gets = {}, 0
    with connection, connection.makefile("rwb") as file:
        for line in file:
            verb, key, *_ = line.split()
            if verb == b"set":
                values[key] = file.readline()
                file.write(b"STORED\r\n")
            else:
                gets += 1
                if gets == 300:
                    time.sleep(hold_s)
                value = values[key].replace(b"0", b"1") if damage else values[key]
                file.write(b"VALUE %s 0 %d\r\n%sEND\r\n" % (key, len(value) - 2, value))
            file.flush()


def run(hold_s=0.0, damage=False):
    with create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener, hold_s, damage))
        thread.start()
        result = subprocess.run([LOAD, "--port", str(listener.getsockname()[1]), "--connections", "1", "--rate", "1000",
                                 "--seconds", "0.5"], capture_output=True, text=True, timeout=100, check=False)
        thread.join()
    return result, {name: int(value) for name, value in re.findall(r"^(\S+) : (\d+) us$", result.stdout, re.MULTILINE)}


def test_requests_that_were_due_while_the_server_stood_still_count_it():
    result, figures = run(hold_s=0.1)
    assert result.returncode == 0, result.stderr
    # Of 500 requests 100 were due meanwhile.
    assert figures["latency-p95"] > 30_000, figures


def test_a_wrong_value_is_noticed():
    result, _ = run(damage=True)
    assert result.returncode == 1
    assert result.stderr == "memcached-open-loop: wrong result: memcached's answer is wrong\n"


@pytest.mark.parametrize("arguments", [["--rate", "0"], ["--port", "0"]])
def test_a_wrong_option_is_explained(arguments):
    result = subprocess.run([LOAD, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2 and arguments[0] in result.stderr
