# SPDX-License-Identifier: MIT OR Apache-2.0
"""Clients of our own, many at a time: what the load generators do not check, these do."""

import hashlib
import socket
from concurrent.futures import ThreadPoolExecutor

from trial import Failed

CLIENTS = 16


class LineClient:
    """A connection to a server that answers each request with lines (Redis, memcached)."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.file = self.socket.makefile("rwb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def ask(self, request, lines=1):
        """Sends a request and returns this many lines of the answer, as text without their ends."""
        self.file.write(request.encode() + b"\r\n")
        self.file.flush()
        return "\n".join(self.file.readline().decode().rstrip("\r\n") for _ in range(lines))


def answers(port):
    """Whether somebody listens there."""
    socket.create_connection(("127.0.0.1", port), timeout=1).close()
    return True


def at_once(body):
    """Calls body(index) in all clients at once and returns what they return, in order of their index."""
    try:
        with ThreadPoolExecutor(CLIENTS) as pool:
            return list(pool.map(body, range(CLIENTS)))
    except OSError as error:
        raise Failed(f"a client lost its server: {error}") from error


def value_of(key):
    """A value of its own for each key, 64 to 1088 letters."""
    digest = hashlib.sha256(key.encode()).hexdigest()
    return digest * (1 + int(digest[:2], 16) % 17)


def digest_of(texts):
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def expect(what, wanted, found):
    if wanted != found:
        raise Failed(f"{what}: {found!s:.80} instead of {wanted!s:.80}")


def figure(expression, output, program):
    """The number that an expression finds in what a load generator printed."""
    found = expression.search(output)
    if not found:
        raise Failed(f"{program} printed no figure: {(output.strip().splitlines() or ['nothing'])[-1]}")
    return float(found.group(1))
