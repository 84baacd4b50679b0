"""pymssql: load TABLE COUNT by bulk copy, or read TABLE."""
import sys

import pymssql

import rows

c = pymssql.connect(server="standin", port=str(rows.PORT), user="sa", password=rows.PASSWORD, database="testdb", tds_version="7.4", login_timeout=60,
                    encryption="off" if rows.MODE == "no" else "require", autocommit=True)
what, table = sys.argv[1:3]
if what == "load":
    c.bulk_copy(table, rows.rows(int(sys.argv[3])), batch_size=2000)
else:
    cur = c.cursor()
    cur.execute(f"SELECT * FROM {table} ORDER BY id")
    for r in cur:
        print(rows.show(r))
c.close()
