-- A trading company, in the manner of scripts for SQL Server 7: quoted identifiers, sysobjects, old joins.
SET NOCOUNT ON
GO
USE master
GO
if exists (select * from sysdatabases where name = 'Traders')
	drop database Traders
GO
DECLARE @dir nvarchar(520)
SELECT @dir = SUBSTRING(filename, 1, CHARINDEX(N'master.mdf', LOWER(filename)) - 1)
FROM master.dbo.sysaltfiles WHERE dbid = 1 AND fileid = 1
EXECUTE (N'CREATE DATABASE Traders ON PRIMARY (NAME = N''Traders'', FILENAME = N''' + @dir + N'traders.mdf'')
	LOG ON (NAME = N''Traders_log'', FILENAME = N''' + @dir + N'traders.ldf'')')
GO
exec sp_dboption 'Traders', 'trunc. log on chkpt.', 'true'
GO
set quoted_identifier on
GO
SET DATEFORMAT mdy
GO
use "Traders"
go
if exists (select * from sysobjects where id = object_id('dbo.Order Totals') and sysstat & 0xf = 2)
	drop view "dbo"."Order Totals"
GO
if exists (select * from sysobjects where id = object_id('dbo.Orders') and sysstat & 0xf = 3)
	drop table "dbo"."Orders"
GO
CREATE TABLE "Clerks" (
	"ClerkID" "int" IDENTITY (1, 1) NOT NULL ,
	"LastName" nvarchar (20) NOT NULL ,
	"BirthDate" "datetime" NULL ,
	"Photo" "image" NULL ,
	"Notes" "ntext" NULL ,
	"ReportsTo" "int" NULL ,
	CONSTRAINT "PK_Clerks" PRIMARY KEY CLUSTERED ("ClerkID"),
	CONSTRAINT "FK_Clerks_Clerks" FOREIGN KEY ("ReportsTo") REFERENCES "dbo"."Clerks" ("ClerkID"),
	CONSTRAINT "CK_Birth" CHECK (BirthDate < getdate())
)
GO
 CREATE INDEX "LastName" ON "dbo"."Clerks"("LastName")
GO
CREATE TABLE "Orders" (
	"OrderID" "int" IDENTITY (100, 1) NOT NULL ,
	"ClerkID" "int" NULL ,
	"OrderDate" "datetime" NULL ,
	"Freight" "money" NULL CONSTRAINT "DF_Orders_Freight" DEFAULT (0),
	CONSTRAINT "PK_Orders" PRIMARY KEY CLUSTERED ("OrderID"),
	CONSTRAINT "FK_Orders_Clerks" FOREIGN KEY ("ClerkID") REFERENCES "dbo"."Clerks" ("ClerkID")
)
GO
CREATE TABLE "Order Lines" (
	"OrderID" "int" NOT NULL ,
	"Product" nvarchar (40) NOT NULL ,
	"Price" "money" NOT NULL CONSTRAINT "DF_Price" DEFAULT (0),
	"Quantity" "smallint" NOT NULL CONSTRAINT "DF_Quantity" DEFAULT (1),
	"Discount" "real" NOT NULL CONSTRAINT "DF_Discount" DEFAULT (0),
	CONSTRAINT "PK_Lines" PRIMARY KEY CLUSTERED ("OrderID", "Product"),
	CONSTRAINT "FK_Lines_Orders" FOREIGN KEY ("OrderID") REFERENCES "dbo"."Orders" ("OrderID"),
	CONSTRAINT "CK_Discount" CHECK (Discount >= 0 and (Discount <= 1)),
	CONSTRAINT "CK_Quantity" CHECK (Quantity > 0)
)
GO
create view "Order Totals" AS
SELECT l.OrderID, Sum(CONVERT(money, (l.Price*Quantity*(1-Discount)/100))*100) AS Total
FROM "Order Lines" l
GROUP BY l.OrderID
GO
create procedure "Ten Dearest" AS
SET ROWCOUNT 2
SELECT Product AS Dearest, Price FROM "Order Lines" ORDER BY Price DESC
GO
CREATE PROCEDURE SalesOfYear @Year nvarchar(4) = '1998'
AS
IF @Year != '1996' AND @Year != '1997' AND @Year != '1998'
BEGIN
	SELECT @Year = '1998'
END
SELECT Clerk = c.LastName, Total = ROUND(SUM(CONVERT(decimal(14,2), L.Quantity * (1-L.Discount) * L.Price)), 0)
FROM "Order Lines" L, Orders O, Clerks c
WHERE L.OrderID = O.OrderID AND O.ClerkID = c.ClerkID AND SUBSTRING(CONVERT(nvarchar(22), O.OrderDate, 111), 1, 4) = @Year
GROUP BY c.LastName ORDER BY c.LastName
GO
set identity_insert "Clerks" on
GO
ALTER TABLE "Clerks" NOCHECK CONSTRAINT ALL
GO
INSERT "Clerks"("ClerkID","LastName","BirthDate","Photo","Notes","ReportsTo") VALUES(1,'Haas','12/08/1948',0x151C2F,N'Speaks Danish, and "some" French.',2)
INSERT "Clerks"("ClerkID","LastName","BirthDate","Photo","Notes","ReportsTo") VALUES(2,'Lind','2/19/1952',NULL,NULL,NULL)
GO
set identity_insert "Clerks" off
GO
ALTER TABLE "Clerks" CHECK CONSTRAINT ALL
GO
INSERT INTO Orders (ClerkID, OrderDate, Freight) VALUES (1, '7/4/1996', 32.38)
INSERT INTO Orders (ClerkID, OrderDate) VALUES (2, '5/5/1998')
INSERT INTO "Order Lines" VALUES (100, 'Chai', 18, 10, 0)
INSERT INTO "Order Lines" VALUES (100, 'Ikura', 31, 2, 0.25)
INSERT INTO "Order Lines" (OrderID, Product, Price) VALUES (101, 'Tofu', $23.25)
GO
