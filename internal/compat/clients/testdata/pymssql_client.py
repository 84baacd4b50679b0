"""Drives the stand-in through pymssql: queries, parameters, transactions, procedures, bulk copy, errors."""
import datetime
import decimal
import os

import pymssql


def connect(**more):
    encryption = "require" if os.environ["STANDIN_TLS"] == "yes" else "off"
    return pymssql.connect(server="standin", port=os.environ["STANDIN_PORT"], user="sa", password=os.environ["STANDIN_PASSWORD"], database="testdb",
                           tds_version="7.4", login_timeout=20, encryption=encryption, **more)


def check(what, got, want):
    if got != want:
        raise SystemExit(f"{what}: got {got!r}, want {want!r}")


c = connect()
cur = c.cursor()
cur.execute("SELECT id, name, price FROM dbo.item ORDER BY id")
check("rows", cur.fetchall(), [(1, "apple", decimal.Decimal("1.2500")), (2, "pear", None), (3, "čerešňa", decimal.Decimal("7.0000"))])

cur.execute("SELECT %s AS s, %d AS n, CAST(%s AS datetime2(3)) AS at", ("naïve 'quoted'", 42, "2024-02-29 23:59:59.999"))
check("parameters", cur.fetchone(), ("naïve 'quoted'", 42, datetime.datetime(2024, 2, 29, 23, 59, 59, 999000)))

cur.execute("CREATE TABLE #t (id int, s nvarchar(max))")
cur.executemany("INSERT #t VALUES (%d, %s)", [(i, "x" * i) for i in range(50)])
cur.execute("SELECT COUNT(*), MAX(LEN(s)) FROM #t")
check("executemany", cur.fetchone(), (50, 49))
c.rollback()

cur.execute("UPDATE dbo.item SET price = 99 WHERE id = 1")
check("row count", cur.rowcount, 1)
c.rollback()
cur.execute("SELECT price FROM dbo.item WHERE id = 1")
check("rollback", cur.fetchone(), (decimal.Decimal("1.2500"),))
c.commit()

out = cur.callproc("dbo.sum_of", (20, 22, pymssql.output(int)))
check("output parameter", out[2], 42)

try:
    cur.execute("INSERT dbo.item VALUES (1, N'again', NULL)")
    raise SystemExit("a duplicate key went in")
except pymssql.Error as e:
    check("error number", e.args[0], 2627)
c.rollback()
c.close()

c = connect(autocommit=True)
cur = c.cursor()
cur.execute("TRUNCATE TABLE dbo.loaded")
at = datetime.datetime(2024, 2, 29, 12, 0, 0, 123000)
rows = [(i, None if i % 7 == 0 else i, i * 0.5, i % 2, f"ü{i}", f"v{i}", decimal.Decimal(i) / 4, at, b"\x00\xff") for i in range(1500)]
c.bulk_copy("dbo.loaded", rows, batch_size=400)
cur.execute("SELECT COUNT(*), COUNT(i), SUM(d), MIN(at) FROM dbo.loaded")
check("bulk copy", cur.fetchone(), (1500, 1285, decimal.Decimal("281062.5000"), at))
cur.execute("SELECT id, i, f, b, s, v, d, x FROM dbo.loaded WHERE id = 8")
check("bulk row", cur.fetchone(), (8, 8, 4.0, False, "ü8", "v8", decimal.Decimal("2.0000"), b"\x00\xff"))
c.close()

try:
    pymssql.connect(server="standin", port=os.environ["STANDIN_PORT"], user="sa", password="wrong", database="testdb", encryption="require" if os.environ["STANDIN_TLS"] == "yes" else "off")
    raise SystemExit("a wrong password was let in")
except pymssql.OperationalError as e:
    if "18456" not in str(e):
        raise
print("all of pymssql passed")
