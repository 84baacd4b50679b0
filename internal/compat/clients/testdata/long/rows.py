"""The rows that every bulk client of this folder loads, and how a reader prints them."""
import datetime
import decimal
import os

PORT = int(os.environ["STANDIN_PORT"])
PASSWORD = os.environ["STANDIN_PASSWORD"]
MODE = os.environ["STANDIN_TLS"]  # no, yes or strict
CA = os.environ["STANDIN_CA"]
PLAIN = os.environ.get("STANDIN_PLAIN") == "yes"  # ASCII and whole seconds: what every client can send
START = datetime.datetime(2024, 2, 29)
NAMES = ["id", "i", "f", "b", "s", "v", "n", "ts", "bin"]


def row(i):
    n = decimal.Decimal(i * 2501) / 10000
    if PLAIN:
        return (5_000_000_000 + i, None if i % 7 == 0 else -i, i / 2, i % 2 == 0, f"s-{i}", f"v-{i}", -n if i % 2 else n,
                START + datetime.timedelta(seconds=i), b"\x00\xff" + str(i).encode())
    return (5_000_000_000 + i, None if i % 7 == 0 else -i, i / 2, i % 2 == 0, f"ü名😀-{i}", f"é€-{i}", -n if i % 2 else n,
            START + datetime.timedelta(seconds=i, milliseconds=i * 7 % 1000, microseconds=456), b"\x00\xff" + str(i).encode())


def rows(count):
    return [row(i) for i in range(count)]


def show(r):
    id_, i, f, b, s, v, n, ts, x = r
    return "|".join([str(id_), "NULL" if i is None else str(i), f"{f:.1f}", str(int(b)), s, v, f"{n:.4f}", f"{ts:%Y-%m-%d %H:%M:%S.%f}", bytes(x).hex()])


def check(what, got, want):
    if got != want:
        raise SystemExit(f"{what}: got {got!r}, want {want!r}")


def arrow(count):
    import pyarrow as pa
    types = [pa.int64(), pa.int32(), pa.float64(), pa.bool_(), pa.string(), pa.string(), pa.decimal128(18, 4), pa.timestamp("us"), pa.binary()]
    columns = list(zip(*rows(count)))
    return pa.table([pa.array(c, t) for c, t in zip(columns, types)], names=NAMES)
