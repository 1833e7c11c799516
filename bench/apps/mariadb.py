# SPDX-License-Identifier: MIT OR Apache-2.0
"""MariaDB under sysbench: the tables must hold what was loaded, and every update once."""

import re
import signal

from clients import answers, expect, figure

load = "sysbench, 16 threads"
unit = "transactions/s"

PORT = 3306
TABLES, ROWS = 4, 5000
UPDATES = 4000
PER_SECOND = re.compile(r"transactions: .*\(([0-9.]+) per sec\.\)")

ALL_TABLES = [f"bench.sbtest{number}" for number in range(1, TABLES + 1)]

# The tables that sysbench's scripts work on. Its own 'prepare' fills them with other values each time.
LOAD = """
    create table {table} (id int auto_increment primary key, k int not null, c char(120) not null,
                          pad char(60) not null, key (k));
    insert into {table} select seq, seq * 7919 % 5000, rpad(sha2(seq, 512), 120, '-'), left(sha2(-seq, 512), 60)
                        from seq_1_to_{rows};
"""


def sysbench(trial, script, *arguments):
    return trial.call("sysbench", script, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={PORT}",
                      "--mysql-user=root", "--mysql-db=bench", f"--tables={TABLES}", f"--table-size={ROWS}",
                      "--threads=16", *arguments, "run")


def query(trial, text):
    return trial.call("mariadb", "--no-defaults", "--protocol=tcp", "--host=127.0.0.1", f"--port={PORT}", "--user=root",
                      "--batch", "--skip-column-names", text=text).split("\n")[:-1]


def sum_over_tables(trial, expression):
    parts = " union all ".join(f"select {expression} as part from {table}" for table in ALL_TABLES)
    return int(query(trial, f"select sum(part) from ({parts}) as parts;")[0])


def run(trial):
    data = trial.directory / "data"
    trial.call("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal",
               "--skip-test-db")
    trial.begin("mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={trial.directory}/socket",
                f"--pid-file={trial.directory}/pid", f"--port={PORT}", "--bind-address=127.0.0.1",
                "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M", "--innodb-flush-log-at-trx-commit=2")
    trial.wait_until(lambda: answers(PORT))

    tables = "".join(LOAD.format(table=table, rows=ROWS) for table in ALL_TABLES)
    query(trial, "create database bench; use bench;" + tables)
    loaded = query(trial, "checksum table " + ", ".join(ALL_TABLES) + ";")

    # Each of these adds 1 to one row; threads meet in the rows, and in the index.
    before = sum_over_tables(trial, "sum(k)")
    sysbench(trial, "oltp_update_index", f"--events={UPDATES}", "--time=0")
    expect("sum of the updated column", before + UPDATES, sum_over_tables(trial, "sum(k)"))

    said = sysbench(trial, "oltp_read_write", "--events=0", f"--time={trial.whole_seconds}")
    # Each transaction deletes a row and puts it back.
    expect("rows", TABLES * ROWS, sum_over_tables(trial, "count(*)"))
    checked = query(trial, "check table " + ", ".join(ALL_TABLES) + " extended;")
    trial.end(signal.SIGTERM)
    return figure(PER_SECOND, said, "sysbench"), {"checksum table": loaded, "check table": checked}
