-- A maker of bicycles, in the manner of scripts since 2005: schemas, alias types, TRY and CATCH, XML, a cursor.
IF DB_ID(N'Works') IS NOT NULL
	DROP DATABASE [Works];
GO
CREATE DATABASE [Works];
GO
ALTER DATABASE [Works] SET RECOVERY SIMPLE, ANSI_NULLS ON, QUOTED_IDENTIFIER ON, ALLOW_SNAPSHOT_ISOLATION OFF;
GO
USE [Works];
GO
CREATE TYPE [Flag] FROM [bit] NOT NULL;
CREATE TYPE [Name] FROM nvarchar(50) NULL;
GO
CREATE SCHEMA [Sales] AUTHORIZATION [dbo];
GO
CREATE TABLE [dbo].[ErrorLog](
	[ErrorLogID] [int] IDENTITY (1, 1) NOT NULL,
	[ErrorTime] [datetime] NOT NULL CONSTRAINT [DF_ErrorLog_ErrorTime] DEFAULT (GETDATE()),
	[UserName] [sysname] NOT NULL,
	[ErrorNumber] [int] NOT NULL,
	[ErrorMessage] [nvarchar](4000) NOT NULL
) ON [PRIMARY];
GO
CREATE PROCEDURE [dbo].[uspLogError] @ErrorLogID [int] = 0 OUTPUT
WITH EXECUTE AS CALLER
AS
BEGIN
	SET NOCOUNT ON;
	SET @ErrorLogID = 0;
	IF ERROR_NUMBER() IS NULL RETURN;
	IF XACT_STATE() = -1
	BEGIN
		PRINT 'Cannot log error since the current transaction is in an uncommittable state.';
		RETURN;
	END
	INSERT [dbo].[ErrorLog] ([UserName], [ErrorNumber], [ErrorMessage])
	VALUES (CONVERT(sysname, CURRENT_USER), ERROR_NUMBER(), ERROR_MESSAGE());
	SET @ErrorLogID = @@IDENTITY;
END;
GO
CREATE TABLE [Sales].[Customer](
	[CustomerID] [int] IDENTITY (1, 1) NOT FOR REPLICATION NOT NULL,
	[FullName] [Name] NOT NULL,
	[Online] [Flag] NOT NULL CONSTRAINT [DF_Customer_Online] DEFAULT (1),
	[AccountNumber] AS ISNULL('AW' + RIGHT('00000000' + CONVERT(varchar(8), [CustomerID]), 8), ''),
	[rowguid] uniqueidentifier ROWGUIDCOL NOT NULL CONSTRAINT [DF_Customer_rowguid] DEFAULT (NEWID()),
	[ModifiedDate] [datetime] NOT NULL CONSTRAINT [DF_Customer_ModifiedDate] DEFAULT (GETDATE()),
) ON [PRIMARY];
CREATE TABLE [Sales].[OrderLine](
	[OrderID] [int] NOT NULL,
	[LineID] [int] IDENTITY(1, 1) NOT NULL,
	[CustomerID] [int] NOT NULL,
	[Qty] [smallint] NOT NULL,
	[UnitPrice] [money] NOT NULL,
	[Discount] [money] NOT NULL CONSTRAINT [DF_OrderLine_Discount] DEFAULT (0.0),
	[LineTotal] AS ISNULL([UnitPrice] * (1.0 - [Discount]) * [Qty], 0.0),
	CONSTRAINT [CK_OrderLine_Qty] CHECK ([Qty] > 0),
	CONSTRAINT [CK_OrderLine_Discount] CHECK ([Discount] >= 0.00),
) ON [PRIMARY];
GO
ALTER TABLE [Sales].[Customer] WITH CHECK ADD CONSTRAINT [PK_Customer] PRIMARY KEY CLUSTERED ([CustomerID]) ON [PRIMARY];
ALTER TABLE [Sales].[OrderLine] WITH CHECK ADD CONSTRAINT [PK_OrderLine] PRIMARY KEY CLUSTERED ([OrderID], [LineID]) ON [PRIMARY];
ALTER TABLE [Sales].[OrderLine] ADD CONSTRAINT [FK_OrderLine_Customer] FOREIGN KEY ([CustomerID]) REFERENCES [Sales].[Customer]([CustomerID]) ON DELETE CASCADE;
CREATE UNIQUE INDEX [AK_Customer_rowguid] ON [Sales].[Customer]([rowguid]) ON [PRIMARY];
CREATE NONCLUSTERED INDEX [IX_OrderLine_Customer] ON [Sales].[OrderLine]([CustomerID]) INCLUDE ([Qty]) WHERE ([Qty] > 1);
GO
CREATE TRIGGER [Sales].[uCustomer] ON [Sales].[Customer] AFTER UPDATE NOT FOR REPLICATION AS
BEGIN
	DECLARE @Count int;
	SET @Count = @@ROWCOUNT;
	IF @Count = 0 RETURN;
	SET NOCOUNT ON;
	BEGIN TRY
		IF UPDATE([FullName])
			UPDATE [Sales].[Customer] SET [ModifiedDate] = '20300101' FROM inserted WHERE inserted.[CustomerID] = [Sales].[Customer].[CustomerID];
	END TRY
	BEGIN CATCH
		IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
		EXECUTE [dbo].[uspLogError];
	END CATCH;
END;
GO
CREATE FUNCTION [dbo].[ufnLeadingZeros](@Value int) RETURNS varchar(8) WITH SCHEMABINDING AS
BEGIN
	DECLARE @ReturnValue varchar(8);
	SET @ReturnValue = CONVERT(varchar(8), @Value);
	SET @ReturnValue = REPLICATE('0', 8 - DATALENGTH(@ReturnValue)) + @ReturnValue;
	RETURN (@ReturnValue);
END;
GO
CREATE FUNCTION [dbo].[ufnLines](@CustomerID int) RETURNS TABLE AS RETURN
	SELECT [LineID], [LineTotal] FROM [Sales].[OrderLine] WHERE [CustomerID] = @CustomerID;
GO
CREATE VIEW [Sales].[vTop] WITH SCHEMABINDING AS
	SELECT c.[FullName], x.[Total], RANK() OVER (ORDER BY x.[Total] DESC) AS [Place]
	FROM [Sales].[Customer] c CROSS APPLY (SELECT SUM([LineTotal]) AS [Total] FROM [Sales].[OrderLine] l WHERE l.[CustomerID] = c.[CustomerID]) x;
GO
INSERT [Sales].[Customer] ([FullName]) VALUES (N'Ann'), (N'Bo'), (N'Cy');
INSERT [Sales].[OrderLine] ([OrderID], [CustomerID], [Qty], [UnitPrice], [Discount]) VALUES (1, 1, 2, 10, 0), (1, 2, 1, 100, 0.1), (2, 1, 5, 3, 0);
GO
CREATE PROCEDURE [dbo].[uspCopyAll] AS
BEGIN
	SET NOCOUNT ON;
	CREATE TABLE #sum (id int PRIMARY KEY, lines int);
	DECLARE @id int, @n int;
	DECLARE customers CURSOR LOCAL FAST_FORWARD FOR SELECT [CustomerID] FROM [Sales].[Customer] ORDER BY [CustomerID];
	OPEN customers;
	FETCH NEXT FROM customers INTO @id;
	WHILE (@@FETCH_STATUS <> -1)
	BEGIN
		SELECT @n = COUNT(*) FROM [dbo].[ufnLines](@id);
		INSERT #sum VALUES (@id, @n);
		FETCH NEXT FROM customers INTO @id;
	END
	CLOSE customers;
	DEALLOCATE customers;
	SELECT id, lines FROM #sum;
END;
GO
BEGIN TRY
	BEGIN TRANSACTION;
	INSERT [Sales].[OrderLine] ([OrderID], [CustomerID], [Qty], [UnitPrice]) VALUES (9, 99, 1, 1);
	COMMIT;
END TRY
BEGIN CATCH
	IF @@TRANCOUNT > 0 ROLLBACK;
	EXEC [dbo].[uspLogError];
END CATCH;
GO
EXECUTE [sys].[sp_addextendedproperty] N'MS_Description', N'Customers.', N'SCHEMA', [Sales], N'TABLE', [Customer], NULL, NULL;
GO
