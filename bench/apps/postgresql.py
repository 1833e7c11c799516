# SPDX-License-Identifier: MIT OR Apache-2.0
"""PostgreSQL under pgbench's bank: every balance must be what the history of transactions says."""

import re
import signal
from pathlib import Path

from clients import answers, expect, figure
from trial import Failed

load = "pgbench, 16 clients"
unit = "transactions/s"

PORT = 5432
SCALE = 4  # branches, of 100,000 accounts each
TPS = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)
PROCESSED = re.compile(r"^number of transactions actually processed: (\d+)", re.MULTILINE)

# Money is moved three times over by each transaction, and written down once.
BALANCES = """
    select (select sum(abalance) from pgbench_accounts) - sum(delta),
           (select sum(tbalance) from pgbench_tellers) - sum(delta),
           (select sum(bbalance) from pgbench_branches) - sum(delta),
           (select count(*) from pgbench_accounts),
           count(*)
    from pgbench_history
"""
# By parallel workers, which hash and sort on several CPUs; the answer does not depend on the transactions.
PARALLEL = """
    set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
    select count(distinct a.aid), sum(a.aid::bigint * b.bid), md5(string_agg(a.aid::text, ',' order by a.aid))
    from pgbench_accounts a join pgbench_accounts b using (aid)
"""


def programs():
    """Where Debian puts those that are not in PATH: one directory a version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not found:
        raise Failed("there is no /usr/lib/postgresql/*/bin: install postgresql-15")
    return found[-1]


def run(trial):
    bin_directory = programs()
    data = trial.directory / "data"
    address = ["-h", "127.0.0.1", "-p", PORT, "-U", "bench"]
    trial.call(bin_directory / "initdb", "--no-sync", "--no-locale", "-A", "trust", "-U", "bench", "-D", data)
    trial.begin(bin_directory / "postgres", "-D", data, "-p", PORT, "-k", trial.directory,
                "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off")
    trial.wait_until(lambda: answers(PORT))
    trial.wait_until(lambda: trial.call("pg_isready", *address, status=None).endswith("accepting connections\n"))

    trial.call("pgbench", *address, "--initialize", "--quiet", "--scale", SCALE, "postgres")
    said = trial.call("pgbench", *address, "--no-vacuum", "--client", 16, "--jobs", 4, "--time", trial.whole_seconds,
                      "postgres")
    processed = int(figure(PROCESSED, said, "pgbench"))

    def query(text):
        return trial.call("psql", *address, "-X", "-A", "-t", "-q", "-d", "postgres", text=text).strip()

    *off, accounts, history = map(int, query(BALANCES + ";").split("|"))
    expect("balances of accounts, tellers and branches against the history", [0, 0, 0], off)
    expect("transactions in the history", processed, history)
    results = {"accounts": accounts, "parallel query": query(PARALLEL + ";")}
    trial.end(signal.SIGINT)  # a fast shutdown: disconnects and checkpoints
    return figure(TPS, said, "pgbench"), results
