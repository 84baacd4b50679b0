-- A wholesaler, in the manner of scripts since 2016: sequences, JSON, MERGE, DROP IF EXISTS, THROW.
DROP DATABASE IF EXISTS Wholesale;
GO
CREATE DATABASE Wholesale COLLATE Latin1_General_100_CI_AS;
GO
USE Wholesale;
GO
CREATE SCHEMA Warehouse AUTHORIZATION dbo;
GO
CREATE SCHEMA Sequences AUTHORIZATION dbo;
GO
CREATE SEQUENCE Sequences.ItemID AS int START WITH 1 INCREMENT BY 1;
GO
DROP TABLE IF EXISTS Warehouse.Items;
CREATE TABLE Warehouse.Items
(
	ItemID int NOT NULL CONSTRAINT PK_Items PRIMARY KEY CONSTRAINT DF_ItemID DEFAULT (NEXT VALUE FOR Sequences.ItemID),
	ItemName nvarchar(100) NOT NULL CONSTRAINT UQ_ItemName UNIQUE,
	Price decimal(18, 2) NOT NULL,
	Tags nvarchar(max) NULL CONSTRAINT CK_Tags CHECK (ISJSON(Tags) = 1),
	FirstTag AS JSON_VALUE(Tags, '$[0]'),
	Changed datetime2(7) NOT NULL CONSTRAINT DF_Changed DEFAULT (SYSDATETIME()),
	INDEX IX_Price NONCLUSTERED (Price)
);
GO
CREATE OR ALTER PROCEDURE Warehouse.LoadItems @Json nvarchar(max)
WITH EXECUTE AS OWNER
AS
BEGIN
	SET NOCOUNT ON;
	SET XACT_ABORT ON;
	IF ISJSON(@Json) <> 1 THROW 51000, N'Not a JSON text.', 1;
	DECLARE @done TABLE (act nvarchar(10), id int);
	BEGIN TRAN;
	MERGE Warehouse.Items WITH (HOLDLOCK) AS t
	USING (SELECT ItemName, Price, Tags FROM OPENJSON(@Json) WITH (ItemName nvarchar(100) '$.name', Price decimal(18, 2) '$.price', Tags nvarchar(max) '$.tags' AS JSON)) AS s
	ON t.ItemName = s.ItemName
	WHEN MATCHED AND t.Price <> s.Price THEN UPDATE SET Price = s.Price, Tags = COALESCE(s.Tags, t.Tags)
	WHEN NOT MATCHED BY TARGET THEN INSERT (ItemName, Price, Tags) VALUES (s.ItemName, s.Price, s.Tags)
	OUTPUT $action, inserted.ItemID INTO @done;
	COMMIT;
	SELECT act, COUNT(*) AS n FROM @done GROUP BY act ORDER BY act;
END;
GO
EXEC Warehouse.LoadItems N'[{"name":"mug","price":9.5,"tags":["red","small"]},{"name":"box","price":1}]';
EXEC Warehouse.LoadItems N'[{"name":"mug","price":10},{"name":"cup","price":3.25,"tags":["blue"]}]';
GO
CREATE OR ALTER FUNCTION Warehouse.ItemsJson() RETURNS nvarchar(max) AS
BEGIN
	RETURN (SELECT ItemID AS [id], ItemName AS [item.name], Price AS [item.price], JSON_QUERY(Tags) AS tags FROM Warehouse.Items ORDER BY ItemID FOR JSON PATH, ROOT('items'));
END;
GO
CREATE SYNONYM dbo.Stock FOR Warehouse.Items;
GO
WITH Numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM Numbers WHERE n < 5)
SELECT n, SUM(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS two INTO Warehouse.Sums FROM Numbers;
GO
