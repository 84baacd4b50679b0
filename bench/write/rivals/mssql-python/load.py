"""Loads an Arrow IPC file with the bulkcopy_arrow of mssql-python in one bulk load, and prints what that cost as JSON.

The options are those of every program that bench/write runs.
"""

import json
import resource
import sys
import time

import mssql_python
import pyarrow as pa
import pyarrow.ipc


def peak_rss():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def main():
    o = dict(arg.lstrip("-").split("=", 1) for arg in sys.argv[1:])
    host, port = o["addr"].rsplit(":", 1)
    batch = 8192
    with pa.ipc.open_file(o["file"]) as file:
        schema = file.schema
        if o["stream"] == "true":
            reader = pa.RecordBatchReader.from_batches(schema, (fresh(file.get_batch(i)) for i in range(file.num_record_batches)))
        else:
            reader = fresh(file.read_all()).to_reader(max_chunksize=batch)
        connection = mssql_python.connect(
            f"Server={host},{port};Database={o['database']};UID={o['user']};PWD={o['password']};Encrypt=no;"
            f"TrustServerCertificate=yes;PacketSize={o['packet']};"
        )
        cursor = connection.cursor()
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic_ns()
        done = cursor.bulkcopy_arrow("dbo." + o["table"], reader, batch_size=0, timeout=0)
        wall, after = time.monotonic_ns() - start, resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "rows": done["rows_copied"],
                "wall_ns": wall,
                "user_ns": round((after.ru_utime - before.ru_utime) * 1e9),
                "sys_ns": round((after.ru_stime - before.ru_stime) * 1e9),
                "peak_rss": peak_rss(),
            }
        )
    )


def fresh(table):
    """Copies the buffers: the driver refuses decimals in memory that is aligned to 8 bytes, as that of a file is."""
    return table.take(pa.array(range(table.num_rows), pa.int64()))


main()
