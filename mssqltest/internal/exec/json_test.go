package exec

import (
	"strings"
	"testing"
)

func TestForJSON(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (id int, name nvarchar(20), price decimal(9,2), at datetime2(3), ok bit, f float, b varbinary(4)); INSERT t VALUES (1, N'a\"/b', 1.50, '2024-01-02 03:04:05', 1, 1.5, 0x0102), (2, NULL, NULL, NULL, 0, NULL, NULL)", ""},
		{"path", "SELECT * FROM t ORDER BY id FOR JSON PATH", `[{"id":1,"name":"a\"\/b","price":1.50,"at":"2024-01-02T03:04:05","ok":true,"f":1.500000000000000e+000,"b":"AQI="},{"id":2,"ok":false}]`},
		{"nested names", "SELECT id AS [k.id], name AS [k.n.x], ok AS [k.n.y], price FROM t WHERE id = 1 FOR JSON PATH", `[{"k":{"id":1,"n":{"x":"a\"\/b","y":true}},"price":1.50}]`},
		{"root and nulls", "SELECT id, name FROM t WHERE id = 2 FOR JSON PATH, ROOT('r'), INCLUDE_NULL_VALUES", `{"r":[{"id":2,"name":null}]}`},
		{"auto", "SELECT id AS [a.b] FROM t WHERE id = 2 FOR JSON AUTO", `[{"a.b":2}]`},
		{"without wrapper", "SELECT id FROM t WHERE id = 1 FOR JSON PATH, WITHOUT_ARRAY_WRAPPER", `{"id":1}`},
		{"nested queries", "SELECT 1 AS a, (SELECT id FROM t ORDER BY id FOR JSON PATH) AS ids, JSON_QUERY('[1]') AS q, '[1]' AS s FOR JSON PATH", `[{"a":1,"ids":[{"id":1},{"id":2}],"q":[1],"s":"[1]"}]`},
		{"no rows", "SELECT id FROM t WHERE id = 9 FOR JSON PATH; SELECT (SELECT id FROM t WHERE id = 9 FOR JSON PATH)", "NULL"},
		{"no name", "SELECT id + 1 FROM t FOR JSON PATH", "msg 13605"},
	})
	got := batchText(t, s, "SELECT value AS v FROM GENERATE_SERIES(1, 1000) FOR JSON PATH")
	lines := strings.Split(got, "\n")
	if len(lines) < 3 || len(lines[0]) != 2033 || !strings.HasSuffix(strings.Join(lines, ""), `{"v":1000}]`) {
		t.Errorf("%d rows, the first of %d characters", len(lines), len(lines[0]))
	}
}

func TestJSONFunctions(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", `CREATE TABLE j (d nvarchar(max)); INSERT j VALUES (N'{"a": 1, "b": {"c d": [10, {"e": "x"}], "n": null}, "s": "t\u00e9"}')`, ""},
		{"value", `SELECT JSON_VALUE(d, '$.a'), JSON_VALUE(d, '$.b."c d"[1].e'), JSON_VALUE(d, 'lax $.zz'), JSON_VALUE(d, '$.b'), JSON_VALUE(d, '$.s'), JSON_VALUE(d, '$.b.n') FROM j`, "1|x|NULL|NULL|té|NULL"},
		{"strict", `SELECT JSON_VALUE(d, 'strict $.zz') FROM j`, "msg 13608"},
		{"strict object", `SELECT JSON_VALUE(d, 'strict $.b') FROM j`, "msg 13623"},
		{"query", `SELECT JSON_QUERY(d, '$.b."c d"'), JSON_QUERY(d, '$.a') FROM j`, `[10, {"e": "x"}]|NULL`},
		{"is", `SELECT ISJSON(d), ISJSON('1'), ISJSON('{x}'), ISJSON('[]'), ISJSON(NULL) FROM j`, "1|0|0|1|NULL"},
		{"modify", `SELECT JSON_MODIFY('{"a":1,"b":[1]}', '$.a', 'x'), JSON_MODIFY('{"a":1}', '$.b', 2), JSON_MODIFY('{"a":1,"b":2}', '$.a', NULL), JSON_MODIFY('{"b":[1]}', 'append $.b', 2), JSON_MODIFY('{"b":1}', '$.b', JSON_QUERY('[3]'))`,
			`{"a":"x","b":[1]}|{"a":1,"b":2}|{"b":2}|{"b":[1,2]}|{"b":[3]}`},
		{"bad text", `SELECT JSON_VALUE('{', '$.a')`, "msg 13609"},
		{"bad path", `SELECT JSON_VALUE('{}', 'a')`, "msg 13607"},
		{"openjson", `SELECT [key], value, type FROM OPENJSON('{"a":1,"b":"x","c":[2],"d":{"e":3},"f":null,"g":true}')`, "a|1|2\nb|x|1\nc|[2]|4\nd|{\"e\":3}|5\nf|NULL|0\ng|true|3"},
		{"openjson of a path", `SELECT value FROM OPENJSON((SELECT d FROM j), '$.b."c d"')`, "10\n{\"e\": \"x\"}"},
		{"openjson with", `SELECT a, c, b, ok FROM OPENJSON('[{"a":1,"b":{"c":"x"},"ok":true},{"a":2}]') WITH (a int, c varchar(10) '$.b.c', b nvarchar(max) AS JSON, ok bit) AS q`, "1|x|{\"c\":\"x\"}|1\n2|NULL|NULL|NULL"},
		{"openjson applied", `SELECT x.id, v.value FROM (VALUES (1, '[5,6]'), (2, '[7]')) x(id, d) CROSS APPLY OPENJSON(x.d) v ORDER BY 1, 2`, "1|5\n1|6\n2|7"},
		{"strict with", `SELECT * FROM OPENJSON('[{"a":1}]') WITH (b int 'strict $.b')`, "msg 13608"},
		{"there and back", `SELECT a, b FROM OPENJSON((SELECT 1 AS a, N'x' AS b FOR JSON PATH)) WITH (a int, b nvarchar(5))`, "1|x"},
	})
}

func TestForXML(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (id int, name nvarchar(20), at datetime); INSERT t VALUES (1, N'a<b&c', '2024-01-02 03:04:05'), (2, NULL, NULL)", ""},
		{"path", "SELECT id AS '@id', name, id AS 'when/@n', at AS 'when/at' FROM t ORDER BY id FOR XML PATH('item'), ROOT('all')", `<all><item id="1"><name>a&lt;b&amp;c</name><when n="1"><at>2024-01-02T03:04:05</at></when></item><item id="2"><when n="2"/></item></all>`},
		{"joined", "SELECT STUFF((SELECT ',' + CAST(id AS varchar(5)) FROM t ORDER BY id FOR XML PATH('')), 1, 1, '')", "1,2"},
		{"joined by value", "SELECT STUFF((SELECT N', ' + name FROM t FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)'), 1, 2, '')", "a<b&c"},
		{"raw", "SELECT id, name FROM t ORDER BY id FOR XML RAW", `<row id="1" name="a&lt;b&amp;c"/><row id="2"/>`},
		{"raw elements", "SELECT id, name FROM t WHERE id = 1 FOR XML RAW('r'), ELEMENTS", `<r><id>1</id><name>a&lt;b&amp;c</name></r>`},
		{"auto", "SELECT id FROM t AS tt WHERE id = 1 FOR XML AUTO", `<tt id="1"/>`},
		{"nested", "SELECT 5 AS a, (SELECT id FROM t WHERE id = 1 FOR XML PATH('x'), TYPE) AS b FOR XML PATH", `<row><a>5</a><b><x><id>1</id></x></b></row>`},
		{"nil", "SELECT id, name FROM t WHERE id = 2 FOR XML PATH, ELEMENTS XSINIL", `<row xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><id>2</id><name xsi:nil="true"/></row>`},
		{"text", "SELECT id AS 'text()', 'x' AS 'b' FROM t WHERE id = 1 FOR XML PATH('r')", `<r>1<b>x</b></r>`},
		{"no rows", "SELECT id FROM t WHERE id = 9 FOR XML PATH", ""},
		{"no name", "SELECT id + 1 FROM t FOR XML RAW", "msg 6809"},
	})
}
