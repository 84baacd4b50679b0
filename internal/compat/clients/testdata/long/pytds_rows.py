"""python-tds: queries, and load TABLE COUNT by copy_to, or read TABLE."""
import sys

import pytds
from pytds import tds_types as t
from pytds.tds_base import Column

import rows

tls = {} if rows.MODE == "no" else {"cafile": rows.CA, "validate_host": False}


def connect(**more):
    return pytds.connect(dsn="127.0.0.1", port=rows.PORT, user="sa", password=rows.PASSWORD, database="testdb", login_timeout=60, **tls, **more)


what = sys.argv[1]
if what == "test":
    with connect() as c, c.cursor() as cur:
        cur.execute("SELECT %s, %s, %s", ("naïve 名", 42, None))
        rows.check("parameters", cur.fetchall(), [("naïve 名", 42, None)])
        cur.execute("UPDATE dbo.item SET price = 99 WHERE id = 1")
        c.rollback()
        cur.execute("SELECT price FROM dbo.item WHERE id = 1")
        rows.check("rollback", f"{cur.fetchone()[0]:.4f}", "1.2500")
        rows.check("procedure", cur.callproc("dbo.sum_of", [20, 22, pytds.output(param_type=int)])[-1], 42)
        try:
            cur.execute("SELECT * FROM dbo.nowhere")
            raise SystemExit("an unknown table was read")
        except pytds.Error as e:
            rows.check("error", e.msg_no, 208)
    print("all of pytds passed")
    sys.exit()
table = sys.argv[2]
with connect(autocommit=True) as c, c.cursor() as cur:
    if what == "load":
        schema, name = table.split(".")
        types = [t.BigIntType(), t.IntType(), t.FloatType(), t.BitType(), t.NVarCharType(size=100), t.VarCharType(size=100), t.DecimalType(18, 4), t.DateTime2Type(6), t.VarBinaryType(64)]
        cur.copy_to(data=rows.rows(int(sys.argv[3])), table_or_view=name, schema=schema, columns=[Column(n, type=ty) for n, ty in zip(rows.NAMES, types)])
    else:
        cur.execute(f"SELECT * FROM {table} ORDER BY id")
        for r in cur:
            print(rows.show(r))
