"""arrow-odbc over FreeTDS' ODBC driver: load TABLE COUNT by arrays of parameters, or read TABLE."""
import os
import sys

import arrow_odbc

import rows

c = arrow_odbc.connect(f"Driver={os.environ['STANDIN_ODBC']};Servername=standin;UID=sa;PWD={{{rows.PASSWORD}}};Database=testdb;", login_timeout_sec=60)
what, table = sys.argv[1:3]
if what == "load":
    c.from_table_to_db(source=rows.arrow(int(sys.argv[3])), target=table, chunk_size=500)
else:
    for batch in c.read_arrow_batches(query=f"SELECT * FROM {table} ORDER BY id", batch_size=1000):
        for r in zip(*[column.to_pylist() for column in batch.columns]):
            print(rows.show(r))
