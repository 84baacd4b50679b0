-- The demo's shop: small, seeded, and with the types that go wrong elsewhere (exact decimals, 100 ns times, a GUID,
-- text outside ASCII, a table without a primary key). Ours; free to copy.
CREATE TABLE dbo.customers (
    customer_id   int IDENTITY(1,1) NOT NULL CONSTRAINT pk_customers PRIMARY KEY,
    name          nvarchar(80)      NOT NULL,
    email         varchar(120)      NULL,
    loyal         bit               NOT NULL CONSTRAINT df_customers_loyal DEFAULT 0,
    joined        date              NOT NULL
);
CREATE TABLE dbo.products (
    product_id    uniqueidentifier  NOT NULL CONSTRAINT pk_products PRIMARY KEY,
    title         nvarchar(100)     NOT NULL,
    price         decimal(12,4)     NOT NULL,
    stock         int               NOT NULL
);
CREATE TABLE dbo.orders (
    order_id      bigint IDENTITY(1001,1) NOT NULL CONSTRAINT pk_orders PRIMARY KEY,
    customer_id   int               NOT NULL CONSTRAINT fk_orders_customers REFERENCES dbo.customers (customer_id),
    placed_at     datetime2(7)      NOT NULL,
    total         money             NOT NULL,
    state         varchar(12)       NOT NULL
);
CREATE TABLE dbo.order_lines (
    order_id      bigint            NOT NULL CONSTRAINT fk_lines_orders REFERENCES dbo.orders (order_id),
    line          smallint          NOT NULL,
    product_id    uniqueidentifier  NOT NULL CONSTRAINT fk_lines_products REFERENCES dbo.products (product_id),
    quantity      int               NOT NULL,
    CONSTRAINT pk_order_lines PRIMARY KEY (order_id, line)
);
CREATE TABLE dbo.visits (
    seen_at       datetimeoffset(3) NOT NULL,
    page          nvarchar(200)     NOT NULL
);
GO
INSERT dbo.customers (name, email, joined) VALUES
    (N'Ana Souza', 'ana@example.com', '2024-02-29'),
    (N'Bjørn Ødegård', NULL, '2025-05-17'),
    (N'陳小明', 'chen@example.com', '2025-11-03');
INSERT dbo.products (product_id, title, price, stock) VALUES
    ('6F9619FF-8B86-D011-B42D-00C04FC964FF', N'Café crème, 250 g', 7.9500, 40),
    ('01234567-89AB-CDEF-0123-456789ABCDEF', N'Teapot', 24.9900, 12),
    ('0E984725-C51C-4BF4-9960-E1C80E27ABA0', N'Paper filter (100)', 0.0375, 5000);
GO
