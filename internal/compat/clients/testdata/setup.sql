-- What the foreign clients of this package read and load.
CREATE TABLE dbo.item (id int NOT NULL PRIMARY KEY, name nvarchar(40) NOT NULL, price money NULL);
INSERT dbo.item VALUES (1, N'apple', 1.25), (2, N'pear', NULL), (3, N'čerešňa', 7);
CREATE TABLE dbo.bcp_clear (id int NOT NULL PRIMARY KEY, n bigint NULL, s nvarchar(50) NULL, d decimal(18,4) NULL, at datetime NULL);
CREATE TABLE dbo.bcp_tls (id int NOT NULL PRIMARY KEY, n bigint NULL, s nvarchar(50) NULL, d decimal(18,4) NULL, at datetime NULL);
CREATE TABLE dbo.loaded (id bigint NOT NULL PRIMARY KEY, i int NULL, f float NULL, b bit NULL, s nvarchar(100) NULL, v varchar(100) NULL, d decimal(18,4) NULL, at datetime2(3) NULL, x varbinary(64) NULL);
GO
CREATE PROCEDURE dbo.twice @n int AS SELECT 2 * @n AS twice;
GO
CREATE PROCEDURE dbo.sum_of @a int, @b int, @sum int OUTPUT AS
BEGIN
  SET NOCOUNT ON;
  SET @sum = @a + @b;
  RETURN 7;
END
GO
