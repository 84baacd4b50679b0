// tedious: load TABLE COUNT by its bulk load, or read TABLE.
'use strict';
const fs = require('fs');
const { Connection, Request, TYPES } = require('tedious');

const mode = process.env.STANDIN_TLS; // no, yes or strict
const [what, table, count] = process.argv.slice(2);
const start = Date.UTC(2024, 1, 29);

function row(i) {
  const ts = new Date(start + i * 1000 + (i * 7) % 1000);
  ts.nanosecondDelta = 0.000456;
  const n = i * 2501 / 10000;
  return [5000000000 + i, i % 7 ? -i : null, i / 2, i % 2 === 0, `ü名😀-${i}`, `é€-${i}`, i % 2 ? -n : n, ts, Buffer.concat([Buffer.from([0, 255]), Buffer.from(String(i))])];
}

function show([id, i, f, b, s, v, n, ts, bin]) {
  const micros = String(Math.round(ts.getUTCMilliseconds() * 1000 + (ts.nanosecondsDelta || 0) * 1e6)).padStart(6, '0');
  const at = ts.toISOString().replace('T', ' ').slice(0, 19);
  return [id, i === null ? 'NULL' : i, f.toFixed(1), b ? 1 : 0, s, v, n.toFixed(4), `${at}.${micros}`, bin.toString('hex')].join('|');
}

function load(c, ended) {
  const b = c.newBulkLoad(table, { keepNulls: true }, ended);
  const nullable = true;
  b.addColumn('id', TYPES.BigInt, { nullable: false });
  b.addColumn('i', TYPES.Int, { nullable });
  b.addColumn('f', TYPES.Float, { nullable });
  b.addColumn('b', TYPES.Bit, { nullable });
  b.addColumn('s', TYPES.NVarChar, { length: 100, nullable });
  b.addColumn('v', TYPES.VarChar, { length: 100, nullable });
  b.addColumn('n', TYPES.Decimal, { precision: 18, scale: 4, nullable });
  b.addColumn('ts', TYPES.DateTime2, { scale: 6, nullable });
  b.addColumn('bin', TYPES.VarBinary, { length: 64, nullable });
  c.execBulkLoad(b, (function* () { for (let i = 0; i < Number(count); i++) yield row(i); })());
}

function read(c, ended) {
  const q = new Request(`SELECT * FROM ${table} ORDER BY id`, ended);
  q.on('row', (cols) => process.stdout.write(show(cols.map((x) => x.value)) + '\n'));
  c.execSqlBatch(q);
}

const c = new Connection({
  server: '127.0.0.1',
  authentication: { type: 'default', options: { userName: 'sa', password: process.env.STANDIN_PASSWORD } },
  options: {
    port: Number(process.env.STANDIN_PORT), database: 'testdb', encrypt: mode === 'strict' ? 'strict' : mode === 'yes', serverName: mode === 'no' ? undefined : 'localhost', trustServerCertificate: false,
    cryptoCredentialsDetails: mode === 'no' ? {} : { ca: fs.readFileSync(process.env.STANDIN_CA) }, connectTimeout: 60000, requestTimeout: 0,
  },
});
const fail = (e) => { console.error(e); process.exit(1); };
c.connect((e) => {
  if (e) fail(e);
  (what === 'load' ? load : read)(c, (e2) => { if (e2) fail(e2); c.close(); });
});
