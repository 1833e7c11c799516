# SPDX-License-Identifier: MIT OR Apache-2.0
"""nginx with a pool of threads that reads files, under wrk: each body must be the file's."""

import http.client
import re
import signal

from clients import answers, at_once, digest_of, expect, figure, value_of
from trial import Failed

load = "wrk, 32 connections"
unit = "requests/s"

PORT = 8080
FILES = 20
PER_SECOND = re.compile(r"^Requests/sec: +([0-9.]+)", re.MULTILINE)
TROUBLE = re.compile(r"^ +(Socket errors: .*|Non-2xx or 3xx responses: .*)", re.MULTILINE)

CONFIGURATION = """
daemon off;
pid {directory}/pid;
error_log stderr warn;
worker_processes 2;
thread_pool readers threads=8;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    server {{
        listen 127.0.0.1:{port} reuseport;
        root {directory}/files;
        sendfile off;
        aio threads=readers;
    }}
}}
"""


def content(number):
    return "".join(value_of(f"{number}:{part}") for part in range(1 + 10 * number))


def fetch_all(_):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    bodies = []
    for number in range(FILES):
        connection.request("GET", f"/{number}")
        response = connection.getresponse()
        bodies.append(response.read().decode())
        expect(f"status of file {number}", 200, response.status)
    connection.close()
    return digest_of(bodies)


def run(trial):
    files = trial.directory / "files"
    files.mkdir()
    for number in range(FILES):
        (files / str(number)).write_text(content(number))
    configuration = trial.directory / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(directory=trial.directory, port=PORT))
    trial.begin("nginx", "-e", "stderr", "-c", configuration)
    trial.wait_until(lambda: answers(PORT))

    said = trial.call("wrk", "--threads", 2, "--connections", 32, "--duration", f"{trial.whole_seconds}s",
                      f"http://127.0.0.1:{PORT}/5")
    if trouble := TROUBLE.search(said):
        raise Failed(f"wrk: {trouble.group(1)}")
    digests = set(at_once(fetch_all))
    expect("digests of the bodies", {digest_of(map(content, range(FILES)))}, digests)
    trial.end(signal.SIGQUIT)  # to end when all requests are answered
    return figure(PER_SECOND, said, "wrk"), {"bodies": sorted(digests)}
