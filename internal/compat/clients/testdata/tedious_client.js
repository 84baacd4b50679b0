// Drives the stand-in through tedious: batches, parameters, prepared statements, transactions, procedures, bulk load,
// cancellation, errors.
'use strict';
const assert = require('assert');
const fs = require('fs');
const { Connection, Request, TYPES, ISOLATION_LEVEL } = require('tedious');

const tls = process.env.STANDIN_TLS === 'yes';

function connect(password = process.env.STANDIN_PASSWORD) {
  const c = new Connection({
    server: '127.0.0.1',
    authentication: { type: 'default', options: { userName: 'sa', password } },
    options: {
      port: Number(process.env.STANDIN_PORT), database: 'testdb', encrypt: tls, serverName: 'localhost', trustServerCertificate: false,
      cryptoCredentialsDetails: tls ? { ca: fs.readFileSync(process.env.STANDIN_CA) } : {}, connectTimeout: 20000, requestTimeout: 0,
    },
  });
  return new Promise((ok, fail) => c.connect((e) => (e ? fail(e) : ok(c))));
}

// call runs a request by a method of the connection and gives rows, count, output parameters and return status.
function call(c, method, sql, params = [], prepare) {
  return new Promise((ok, fail) => {
    const r = { rows: [], out: {} };
    const q = new Request(sql, (e, n) => (e ? fail(e) : ok(Object.assign(r, { n }))));
    for (const [name, type, value, output] of params) {
      if (output) q.addOutputParameter(name, type);
      else q.addParameter(name, type, value);
    }
    q.on('row', (cols) => r.rows.push(cols.map((x) => x.value)));
    q.on('returnValue', (name, value) => { r.out[name] = value; });
    q.on('doneProc', (n, more, status) => { r.status = status; });
    if (prepare) prepare(q);
    c[method](q);
  });
}

const done = (f) => new Promise((ok, fail) => f((e) => (e ? fail(e) : ok())));

async function main() {
  await assert.rejects(connect('wrong'), (e) => e.code === 'ELOGIN' && /Login failed/.test(e.message));
  const c = await connect();

  let r = await call(c, 'execSqlBatch', 'SELECT id, name, price FROM dbo.item ORDER BY id; SELECT 1');
  assert.deepStrictEqual(r.rows, [[1, 'apple', 1.25], [2, 'pear', null], [3, 'čerešňa', 7], [1]]);

  const at = new Date(Date.UTC(2024, 1, 29, 23, 59, 59, 999));
  r = await call(c, 'execSql', 'SELECT @i, @s, @b, @at, @x, @big, @n, @max', [
    ['i', TYPES.Int, -5], ['s', TYPES.NVarChar, 'naïve'], ['b', TYPES.Bit, true], ['at', TYPES.DateTime2, at], ['x', TYPES.VarBinary, Buffer.from('00ff', 'hex')],
    ['big', TYPES.BigInt, '9007199254740993'], ['n', TYPES.Int, null], ['max', TYPES.NVarChar, 'y'.repeat(9000)],
  ]);
  assert.deepStrictEqual(r.rows[0].slice(0, 3), [-5, 'naïve', true]);
  assert.strictEqual(+r.rows[0][3], +at);
  assert.strictEqual(r.rows[0][4].toString('hex'), '00ff');
  assert.deepStrictEqual(r.rows[0].slice(5, 7), ['9007199254740993', null]);
  assert.strictEqual(r.rows[0][7].length, 9000);

  r = await call(c, 'callProcedure', 'dbo.sum_of', [['a', TYPES.Int, 20], ['b', TYPES.Int, 22], ['sum', TYPES.Int, null, true]]);
  assert.deepStrictEqual([r.out, r.status], [{ sum: 42 }, 7]);

  await prepared(c);
  await transactions(c);
  await assert.rejects(call(c, 'execSql', 'SELECT * FROM dbo.nowhere'), (e) => e.number === 208);
  await assert.rejects(call(c, 'execSqlBatch', "INSERT dbo.item VALUES (1, N'again', NULL)"), (e) => e.number === 2627);
  await bulk(c);
  await cancel(c);
  c.close();
  console.log('all of tedious passed');
}

async function prepared(c) {
  let rows = [];
  let ended;
  const q = new Request('SELECT name FROM dbo.item WHERE id = @id', (e) => ended(e));
  q.addParameter('id', TYPES.Int);
  q.on('row', (cols) => rows.push(cols[0].value));
  const step = (f) => new Promise((ok, fail) => { ended = (e) => (e ? fail(e) : ok()); f(); });
  await new Promise((ok, fail) => { q.on('prepared', ok); ended = fail; c.prepare(q); });
  for (const id of [1, 3, 2]) await step(() => c.execute(q, { id }));
  assert.deepStrictEqual(rows, ['apple', 'čerešňa', 'pear']);
  await step(() => c.unprepare(q));
}

async function transactions(c) {
  const price = async () => (await call(c, 'execSql', 'SELECT price FROM dbo.item WHERE id = 2')).rows[0][0];
  await done((f) => c.beginTransaction(f, '', ISOLATION_LEVEL.SERIALIZABLE));
  await call(c, 'execSql', 'UPDATE dbo.item SET price = 5 WHERE id = 2');
  await done((f) => c.saveTransaction(f, 'here'));
  await call(c, 'execSql', 'UPDATE dbo.item SET price = 6 WHERE id = 2');
  assert.strictEqual(await price(), 6);
  await done((f) => c.rollbackTransaction(f, 'here'));
  assert.strictEqual(await price(), 5);
  await done((f) => c.rollbackTransaction(f));
  assert.strictEqual(await price(), null);
  await done((f) => c.beginTransaction(f));
  await done((f) => c.commitTransaction(f));
}

async function bulk(c) {
  await call(c, 'execSqlBatch', 'TRUNCATE TABLE dbo.loaded');
  const at = new Date(Date.UTC(2024, 1, 29, 12, 0, 0, 123));
  const n = await new Promise((ok, fail) => {
    const b = c.newBulkLoad('dbo.loaded', { keepNulls: true }, (e, count) => (e ? fail(e) : ok(count)));
    const nullable = true;
    b.addColumn('id', TYPES.BigInt, { nullable: false });
    b.addColumn('i', TYPES.Int, { nullable });
    b.addColumn('f', TYPES.Float, { nullable });
    b.addColumn('b', TYPES.Bit, { nullable });
    b.addColumn('s', TYPES.NVarChar, { length: 100, nullable });
    b.addColumn('v', TYPES.VarChar, { length: 100, nullable });
    b.addColumn('d', TYPES.Decimal, { precision: 18, scale: 4, nullable });
    b.addColumn('at', TYPES.DateTime2, { scale: 3, nullable });
    b.addColumn('x', TYPES.VarBinary, { length: 64, nullable });
    const rows = [];
    for (let i = 0; i < 3000; i++) rows.push([i, i % 7 ? i : null, i / 2, i % 2 === 0, 'ü' + i, 'é' + i, i / 4, at, Buffer.from([i & 255])]);
    c.execBulkLoad(b, rows);
  });
  assert.strictEqual(n, 3000);
  let r = await call(c, 'execSql', 'SELECT COUNT(*), COUNT(i), SUM(d) FROM dbo.loaded');
  assert.deepStrictEqual(r.rows, [[3000, 2571, 1124625]]);
  r = await call(c, 'execSql', 'SELECT id, i, f, b, s, v, d, at, x FROM dbo.loaded WHERE id = 9');
  assert.deepStrictEqual(r.rows[0].slice(0, 7), ['9', 9, 4.5, false, 'ü9', 'é9', 2.25]);
  assert.deepStrictEqual([+r.rows[0][7], r.rows[0][8].toString('hex')], [+at, '09']);
}

// cancel sends an attention while the server waits; the connection goes on.
async function cancel(c) {
  const started = Date.now();
  await assert.rejects(call(c, 'execSqlBatch', "WAITFOR DELAY '00:00:30'", [], () => setTimeout(() => c.cancel(), 300)), (e) => e.code === 'ECANCEL');
  assert.ok(Date.now() - started < 10000, 'the cancelled request ended late');
  const r = await call(c, 'execSqlBatch', 'SELECT 7');
  assert.deepStrictEqual(r.rows, [[7]]);
}

main().catch((e) => { console.error(e); process.exit(1); });
