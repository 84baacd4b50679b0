package catalog

// What a snapshot asks about the source table @id, whose quoted name is @name.
// Rights of a table on UNMASK exist from SQL Server 2022 on; before, the server
// answers NULL.
const (
	sqlSourceTable = `SELECT COUNT(*), (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = @id AND p.index_id < 2),
 (SELECT CAST(d.snapshot_isolation_state AS int) FROM sys.databases AS d WHERE d.database_id = DB_ID()),
 HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'UNMASK'), HAS_PERMS_BY_NAME(@name, N'OBJECT', N'UNMASK')
FROM sys.tables AS t WHERE t.object_id = @id;
`
	sqlSourcePolicies = `SELECT DISTINCT s.name, p.name FROM sys.security_predicates AS r
 JOIN sys.security_policies AS p ON p.object_id = r.object_id
 JOIN sys.schemas AS s ON s.schema_id = p.schema_id
WHERE r.target_object_id = @id AND p.is_enabled = 1 AND r.predicate_type = 0 ORDER BY s.name, p.name;
`
	sqlSourceIndexes = `SELECT i.index_id, i.is_primary_key, c.name, ic.is_descending_key, c.is_nullable, c.is_masked,
 ty.name, bt.name, CAST(c.max_length AS int), CAST(c.precision AS int), CAST(c.scale AS int), c.collation_name
FROM sys.indexes AS i
 JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
 JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
 LEFT JOIN sys.types AS ty ON ty.user_type_id = c.user_type_id
 LEFT JOIN sys.types AS bt ON bt.user_type_id = c.system_type_id
WHERE i.object_id = @id AND i.type IN (1, 2) AND i.is_unique = 1 AND i.has_filter = 0 AND i.is_disabled = 0 AND ic.key_ordinal > 0
ORDER BY i.index_id, ic.key_ordinal`
	declSource = "@id int, @name nvarchar(776)"
)
