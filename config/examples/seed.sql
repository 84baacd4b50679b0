-- What the examples read: two tables with CDC, and some changes of them; a table for signals; and tables to write to. It runs in an empty database, shop.
CREATE TABLE dbo.customers (
    id     int            NOT NULL CONSTRAINT pk_customers PRIMARY KEY,
    name   nvarchar(80)   NOT NULL,
    email  varchar(120)   NULL,
    notes  nvarchar(max)  NULL
);
CREATE TABLE dbo.orders (
    id           bigint         NOT NULL CONSTRAINT pk_orders PRIMARY KEY,
    customer_id  int            NOT NULL,
    total        decimal(12,2)  NOT NULL,
    state        varchar(12)    NOT NULL
);
-- Asks for snapshots while the changes stream.
CREATE TABLE dbo.mssql_cdc_signals (
    id    varchar(42)    NOT NULL CONSTRAINT pk_signals PRIMARY KEY,
    type  varchar(32)    NOT NULL,
    data  varchar(2048)  NULL
);
-- Where some of the examples write to.
CREATE TABLE dbo.new_orders (
    id           bigint         NOT NULL CONSTRAINT pk_new_orders PRIMARY KEY,
    customer_id  int            NOT NULL,
    total        decimal(12,2)  NOT NULL,
    state        varchar(12)    NOT NULL
);
CREATE TABLE dbo.measurements (
    id         int                NOT NULL CONSTRAINT pk_measurements PRIMARY KEY,
    at         datetimeoffset(3)  NOT NULL,
    sensor     varchar(20)        NOT NULL,
    value      real               NULL,
    stored_at  datetime2(3)       NOT NULL DEFAULT SYSUTCDATETIME()
);
GO
-- Where the examples that copy write to.
CREATE SCHEMA copy;
GO
CREATE TABLE copy.customers (
    id     int            NOT NULL CONSTRAINT pk_copy_customers PRIMARY KEY,
    name   nvarchar(80)   NOT NULL,
    email  varchar(120)   NULL,
    notes  nvarchar(max)  NULL
);
CREATE TABLE copy.orders (
    id           bigint         NOT NULL CONSTRAINT pk_copy_orders PRIMARY KEY,
    customer_id  int            NOT NULL,
    total        decimal(12,2)  NOT NULL,
    state        varchar(12)    NOT NULL
);
GO
EXEC sys.sp_cdc_enable_db;
GO
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'customers', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'orders', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'mssql_cdc_signals', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;
GO
INSERT dbo.customers (id, name, email, notes) VALUES
    (1, N'Ana Souza', 'ana@example.com', N'prefers letters'),
    (2, N'Bjørn Ødegård', NULL, NULL);
GO
BEGIN TRANSACTION;
INSERT dbo.orders (id, customer_id, total, state) VALUES (9007199254740993, 1, 32.90, 'placed');
UPDATE dbo.customers SET name = N'Ana Lima' WHERE id = 1;
COMMIT TRANSACTION;
GO
UPDATE dbo.orders SET state = 'paid' WHERE id = 9007199254740993;
GO
DELETE dbo.orders WHERE id = 9007199254740993;
GO
DELETE dbo.customers WHERE id = 2;
GO
