# SPDX-License-Identifier: MIT OR Apache-2.0
"""Redis with threads for its I/O, under redis-benchmark: counters must add up, values must be read back as written."""

import re
import signal

from clients import CLIENTS, LineClient, answers, at_once, digest_of, expect, figure, value_of

load = "redis-benchmark, 32 clients"
unit = "requests/s"

PORT = 6379
KEYS = 200  # of each of our clients
REQUESTS_PER_S = 100000  # about: sets how much --seconds stands for
COUNTERS = 100
PER_SECOND = re.compile(r'^"INCR[^"]*","([0-9.]+)"', re.MULTILINE)


def write_and_read(index):
    """What one of our clients reads back, while the others do the same and add to one counter."""
    with LineClient(PORT) as client:
        keys = [f"client:{index}:{number}" for number in range(KEYS)]
        for key in keys:
            expect("SET", "+OK", client.ask(f"SET {key} {value_of(key)}"))
            client.ask("INCR shared")
        for key in keys:
            expect(f"value of {key}", value_of(key), client.ask(f"GET {key}", lines=2).split("\n")[1])
        return digest_of(client.ask(f"GET {key}", lines=2) for key in keys)


def run(trial):
    trial.begin("redis-server", "--port", PORT, "--bind", "127.0.0.1", "--dir", trial.directory, "--io-threads", 2,
                "--io-threads-do-reads", "yes", "--appendonly", "yes", "--save", "")
    trial.wait_until(lambda: answers(PORT))

    requests = round(REQUESTS_PER_S * trial.seconds)
    said = trial.call("redis-benchmark", "-p", PORT, "-c", 32, "-n", requests, "-P", 4, "-r", COUNTERS,
                      "-t", "incr", "--csv")
    script = f"local s = 0; for i = 0, {COUNTERS - 1} do " \
             "s = s + (redis.call('get', string.format('counter:%012d', i)) or 0) end; return s"
    counted = int(trial.call("redis-cli", "-p", PORT, "eval", script, 0))
    expect("sum of the counters", requests, counted)

    read_back = digest_of(at_once(write_and_read))
    shared = int(trial.call("redis-cli", "-p", PORT, "get", "shared"))
    expect("the counter that all clients add to", CLIENTS * KEYS, shared)
    trial.call("redis-cli", "-p", PORT, "flushall", "async")  # a background thread frees it all
    trial.end(signal.SIGTERM)
    return figure(PER_SECOND, said, "redis-benchmark"), {"values read back": read_back, "counters": counted}
