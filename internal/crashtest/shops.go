//go:build unix

package crashtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"example.com/mssqlcdc/cmd/mssqlcdc/shop"
)

// Shop is the demo's shop, with more customers and orders.
func Shop(rows int) Workload {
	w := Workload{Name: "shop", Database: "shop", Setup: shop.Script + "\nGO\n" + fmt.Sprintf(`SET NOCOUNT ON;
DECLARE @i int = 0;
WHILE @i < %d
BEGIN
 INSERT dbo.customers (name, email, joined) VALUES (CONCAT(N'Customer №', @i), 'x@example.com', '2024-02-29');
 INSERT dbo.orders (customer_id, placed_at, total, state) VALUES (1 + @i %% 3, '2026-03-01T09:30:00.1234567', @i * 1.01, 'placed');
 INSERT dbo.order_lines (order_id, line, product_id, quantity) SELECT MAX(order_id), 1, '6F9619FF-8B86-D011-B42D-00C04FC964FF', @i FROM dbo.orders;
 INSERT dbo.products (product_id, title, price, stock) VALUES (NEWID(), CONCAT(N'Thé ', @i), @i / 7.0, @i);
 INSERT dbo.visits (seen_at, page) VALUES ('2026-03-01T09:31:00.250+01:00', N'/teapot');
 SET @i += 1;
END`, rows)}
	for _, t := range []string{"customers", "products", "orders", "order_lines", "visits"} {
		w.Tables = append(w.Tables, Name{"dbo", t})
	}
	w.Last = `INSERT dbo.customers (name, email, joined) VALUES (N'Last', NULL, '2030-01-01');
INSERT dbo.products (product_id, title, price, stock) VALUES (NEWID(), N'Last', 1, 1);
INSERT dbo.orders (customer_id, placed_at, total, state) VALUES (1, '2030-01-01', 1, 'last');
INSERT dbo.order_lines (order_id, line, product_id, quantity) SELECT MAX(order_id), 1, '01234567-89AB-CDEF-0123-456789ABCDEF', 1 FROM dbo.orders;
INSERT dbo.visits (seen_at, page) VALUES ('2030-01-01T00:00:00+00:00', N'/last');`
	w.Next = choose(
		`INSERT dbo.customers (name, email, joined) VALUES (N'Łukasz %d', 'l@example.com', '2026-03-01')`,
		`INSERT dbo.orders (customer_id, placed_at, total, state) VALUES (1, '2026-03-01T10:00:00', %d, 'placed');
		 INSERT dbo.order_lines (order_id, line, product_id, quantity) SELECT MAX(order_id), 1, '01234567-89AB-CDEF-0123-456789ABCDEF', 2 FROM dbo.orders;
		 UPDATE dbo.products SET stock = stock - 2 WHERE product_id = '01234567-89AB-CDEF-0123-456789ABCDEF'`,
		`UPDATE TOP (3) dbo.orders SET state = 'paid', total = total + 0.01 WHERE order_id %% 7 = %d %% 7`,
		`UPDATE dbo.customers SET email = 'n%d@example.org', loyal = 1 WHERE customer_id %% 11 = 3`,
		`DECLARE @o bigint = (SELECT MIN(order_id) FROM dbo.orders WHERE order_id > 1001 + %d %% 50); DELETE dbo.order_lines WHERE order_id = @o; DELETE dbo.orders WHERE order_id = @o`,
		`INSERT dbo.visits (seen_at, page) VALUES ('2026-03-01T09:31:00.250+01:00', N'/teapot'), ('2026-03-01T09:31:00.250+01:00', N'/p%d')`,
		`DELETE TOP (1) FROM dbo.visits WHERE page = N'/teapot' AND %d > 0`,
		`UPDATE TOP (1) dbo.visits SET page = N'/q%d' WHERE page = N'/teapot'`,
		`UPDATE dbo.products SET price = price * 1.05 WHERE stock %% 5 = %d %% 5`,
		`UPDATE dbo.order_lines SET line = line + 1 WHERE order_id %% 13 = %d %% 13 AND line < 9`,
	)
	return w
}

// Chinook is the Chinook sample database of the given script.
func Chinook(script string) Workload {
	_, body, _ := strings.Cut(strings.ReplaceAll(script, "\r\n", "\n"), "USE [Chinook];\nGO\n")
	w := Workload{Name: "chinook", Database: "Chinook", Setup: body}
	for _, t := range []string{"Album", "Artist", "Customer", "Employee", "Genre", "Invoice", "InvoiceLine", "MediaType", "Playlist", "PlaylistTrack", "Track"} {
		w.Tables = append(w.Tables, Name{"dbo", t})
	}
	w.Last = `INSERT dbo.Artist (ArtistId, Name) VALUES (900000, N'Last'); INSERT dbo.Album (AlbumId, Title, ArtistId) VALUES (900000, N'Last', 900000);
INSERT dbo.Track (TrackId, Name, AlbumId, MediaTypeId, Milliseconds, UnitPrice) VALUES (900000, N'Last', 900000, 1, 1, 0.99);
UPDATE dbo.Customer SET Fax = N'last' WHERE CustomerId = 1; UPDATE dbo.Employee SET Fax = N'last' WHERE EmployeeId = 1;
UPDATE dbo.Genre SET Name = N'last' WHERE GenreId = 1; UPDATE dbo.MediaType SET Name = N'last' WHERE MediaTypeId = 1;
UPDATE dbo.Playlist SET Name = N'last' WHERE PlaylistId = 1; INSERT dbo.PlaylistTrack (PlaylistId, TrackId) VALUES (1, 900000);
INSERT dbo.Invoice (InvoiceId, CustomerId, InvoiceDate, Total) VALUES (900000, 1, '20300101', 1);
INSERT dbo.InvoiceLine (InvoiceLineId, InvoiceId, TrackId, UnitPrice, Quantity) VALUES (900000, 900000, 900000, 1, 1);`
	w.Next = choose(
		`INSERT dbo.Artist (ArtistId, Name) VALUES (100000 + %[1]d, N'Björk %[1]d'); INSERT dbo.Album (AlbumId, Title, ArtistId) VALUES (100000 + %[1]d, N'Début', 100000 + %[1]d);
		 INSERT dbo.Track (TrackId, Name, AlbumId, MediaTypeId, GenreId, Milliseconds, UnitPrice) VALUES (100000 + %[1]d, N'Hyperballad', 100000 + %[1]d, 1, 1, %[1]d, 0.99)`,
		`INSERT dbo.Invoice (InvoiceId, CustomerId, InvoiceDate, Total) VALUES (100000 + %[1]d, 1 + %[1]d %% 50, '20260301', 1.98);
		 INSERT dbo.InvoiceLine (InvoiceLineId, InvoiceId, TrackId, UnitPrice, Quantity) VALUES (100000 + %[1]d, 100000 + %[1]d, 1 + %[1]d %% 3000, 0.99, 2)`,
		`DELETE dbo.InvoiceLine WHERE InvoiceId = 1 + %[1]d %% 400; UPDATE dbo.Invoice SET Total = 0 WHERE InvoiceId = 1 + %[1]d %% 400`,
		`UPDATE TOP (20) dbo.Track SET UnitPrice = UnitPrice + 0.01 WHERE TrackId %% 97 = %[1]d %% 97`,
		`UPDATE dbo.Customer SET Email = N'c%[1]d@example.com', Company = NULL WHERE CustomerId = 1 + %[1]d %% 50`,
		`DELETE dbo.PlaylistTrack WHERE PlaylistId IN (1, 18) AND TrackId = 1 + %[1]d %% 3000; INSERT dbo.PlaylistTrack (PlaylistId, TrackId) VALUES (18, 1 + %[1]d %% 3000)`,
		`UPDATE dbo.Employee SET Title = N'No. %[1]d' WHERE EmployeeId = 1 + %[1]d %% 8; UPDATE dbo.Genre SET Name = N'%[1]d' WHERE GenreId = 1 + %[1]d %% 25`,
		`UPDATE dbo.PlaylistTrack SET PlaylistId = 17 WHERE PlaylistId = 8 AND TrackId %% 211 = %[1]d %% 211 AND NOT EXISTS (SELECT 1 FROM dbo.PlaylistTrack AS o WHERE o.PlaylistId = 17 AND o.TrackId = PlaylistTrack.TrackId)`,
		`UPDATE dbo.Playlist SET Name = N'list %[1]d' WHERE PlaylistId = 2; UPDATE dbo.MediaType SET Name = N'type %[1]d' WHERE MediaTypeId = 2`,
	)
	return w
}

// choose makes transactions out of texts with a number.
func choose(texts ...string) func(*rand.Rand) string {
	n := 0
	return func(r *rand.Rand) string {
		n++
		return fmt.Sprintf(texts[r.IntN(len(texts))], n)
	}
}
