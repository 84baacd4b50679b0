package bulkload

// sqlTarget lists the columns of the table whose quoted name is @name, in order.
// Period and hidden columns exist from SQL Server 2016 on.
const (
	sqlTarget = `SELECT c.name, ty.name, bt.name, CAST(c.max_length AS int), CAST(c.precision AS int), CAST(c.scale AS int), c.collation_name,
 c.is_nullable, c.is_identity, c.is_computed, c.is_hidden, CAST(c.generated_always_type AS int), c.is_column_set,
 CASE WHEN c.default_object_id = 0 THEN 0 ELSE 1 END,
 CAST(COLLATIONPROPERTY(c.collation_name, 'CodePage') AS int), CAST(COLLATIONPROPERTY(c.collation_name, 'LCID') AS int),
 CAST(COLLATIONPROPERTY(c.collation_name, 'ComparisonStyle') AS int), CAST(COLLATIONPROPERTY(c.collation_name, 'Version') AS int)
FROM sys.columns AS c
 LEFT JOIN sys.types AS ty ON ty.user_type_id = c.user_type_id
 LEFT JOIN sys.types AS bt ON bt.user_type_id = c.system_type_id
WHERE c.object_id = OBJECT_ID(@name) ORDER BY c.column_id`
	declTarget = "@name nvarchar(776)"
)
