"""Runs transactions through pymssql. Each line of the file is one: {"statements": [[sql, [parameter, ...]], ...], "rollback": bool}."""
import json
import os
import sys

import pymssql

c = pymssql.connect(server="standin", port=os.environ["STANDIN_PORT"], user="sa", password=os.environ["STANDIN_PASSWORD"], database="Chinook",
                    tds_version="7.4", login_timeout=20, encryption="off")
cur = c.cursor()
committed = rolled_back = statements = 0
with open(sys.argv[1], encoding="utf-8") as plan:
    for line in plan:
        transaction = json.loads(line)
        for sql, parameters in transaction["statements"]:
            try:
                cur.execute(sql, tuple(parameters))
            except pymssql.Error as e:
                raise SystemExit(f"{sql} with {parameters!r}: {e}")
            statements += 1
        if transaction["rollback"]:
            c.rollback()
            rolled_back += 1
        else:
            c.commit()
            committed += 1
c.close()
print(f"pymssql committed {committed} transactions and rolled back {rolled_back}, {statements} statements")
