"""mssql-python: queries, load or load_arrow TABLE COUNT by its bulk copies, or read TABLE."""
import os
import sys

import mssql_python

import rows

text = f"Server=tcp:127.0.0.1,{rows.PORT};UID=sa;PWD={{{rows.PASSWORD}}};Database=testdb;Encrypt={rows.MODE};"
text += "TrustServerCertificate=yes;" if rows.MODE != "strict" else f"ServerCertificate={os.environ['STANDIN_CERT']};"
what = sys.argv[1]
c = mssql_python.connect(text, autocommit=what != "test", timeout=60)
cur = c.cursor()
if what == "test":
    cur.execute("SELECT ?, ?, ?", ("naïve 名", 42, None))
    rows.check("parameters", tuple(cur.fetchone()), ("naïve 名", 42, None))
    cur.execute("CREATE TABLE #t (id int, s nvarchar(max))")
    cur.executemany("INSERT INTO #t VALUES (?, ?)", [(i, "x" * i) for i in range(1, 300)])
    cur.execute("SELECT COUNT(*), SUM(LEN(s)) FROM #t")
    rows.check("executemany", tuple(cur.fetchone()), (299, 299 * 300 // 2))
    c.rollback()
    cur.execute("UPDATE dbo.item SET price = 99 WHERE id = 1")
    c.rollback()
    cur.execute("SELECT price FROM dbo.item WHERE id = 1")
    rows.check("rollback", f"{cur.fetchone()[0]:.4f}", "1.2500")
    c.commit()
    cur.execute("SELECT 1; SELECT 2")
    rows.check("first result", cur.fetchone()[0], 1)
    rows.check("more results", cur.nextset(), True)
    rows.check("second result", cur.fetchone()[0], 2)
    try:
        cur.execute("SELECT * FROM dbo.nowhere")
        raise SystemExit("an unknown table was read")
    except mssql_python.Error as e:
        if "dbo.nowhere" not in str(e):
            raise
    print("all of mssql-python passed")
elif what == "load":
    cur.bulkcopy(sys.argv[2], rows.rows(int(sys.argv[3])), batch_size=2000, timeout=0)
elif what == "load_arrow":
    cur.bulkcopy_arrow(sys.argv[2], rows.arrow(int(sys.argv[3])), batch_size=2000, timeout=0)
else:
    cur.execute(f"SELECT * FROM {sys.argv[2]} ORDER BY id")
    for r in cur.fetchall():
        print(rows.show(tuple(r)))
c.close()
