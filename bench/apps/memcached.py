# SPDX-License-Identifier: MIT OR Apache-2.0
"""memcached under memaslap, which compares what it gets with what it set; our own clients do the same, and count."""

import re
import signal

from clients import CLIENTS, LineClient, answers, at_once, digest_of, expect, figure, value_of

load = "memaslap, 32 connections"
unit = "operations/s"

PORT = 11211
KEYS = 200  # of each of our clients
PER_SECOND = re.compile(r"TPS: (\d+)")
MISSES = re.compile(r"^get_misses: (\d+)", re.MULTILINE)
WRONG = re.compile(r"^verify_failed: (\d+)", re.MULTILINE)

# Sizes, and the shares of set (0) and get (1). Without a file memaslap wants to write one into its user's home.
CONFIGURATION = """
key
32 64 1
value
64 1024 1
cmd
0 0.2
1 0.8
"""


def write_and_read(index):
    """What one of our clients reads back, while the others do the same and add to one counter."""
    with LineClient(PORT) as client:
        keys = [f"client:{index}:{number}" for number in range(KEYS)]
        for key in keys:
            value = value_of(key)
            expect("set", "STORED", client.ask(f"set {key} 0 0 {len(value)}\r\n{value}"))
            client.ask("incr shared 1")
        bodies = [client.ask(f"get {key}", lines=3).split("\n")[1] for key in keys]
        expect(f"values of client {index}", [value_of(key) for key in keys], bodies)
        return digest_of(bodies)


def run(trial):
    trial.begin("memcached", "-l", "127.0.0.1", "-p", PORT, "-U", 0, "-t", 8, "-m", 1024)  # MB: nothing is evicted
    trial.wait_until(lambda: answers(PORT))

    (trial.directory / "memaslap.conf").write_text(CONFIGURATION)
    # Debian 12 calls it memcaslap.
    said = trial.call("memcaslap", "-s", f"127.0.0.1:{PORT}", "-T", 2, "-c", 32, "-t", f"{trial.whole_seconds}s",
                      "-v", 1.0, "-F", trial.directory / "memaslap.conf")
    expect("values that memaslap found changed", 0, int(figure(WRONG, said, "memaslap")))
    expect("values that memaslap did not find", 0, int(figure(MISSES, said, "memaslap")))

    with LineClient(PORT) as client:
        expect("set", "STORED", client.ask("set shared 0 0 1\r\n0"))
    read_back = digest_of(at_once(write_and_read))
    with LineClient(PORT) as client:
        shared = client.ask("get shared", lines=3).split("\n")[1]
    expect("the counter that all clients add to", str(CLIENTS * KEYS), shared.strip())
    trial.end(signal.SIGTERM)
    return figure(PER_SECOND, said, "memaslap"), {"values read back": read_back, "counter": shared}
