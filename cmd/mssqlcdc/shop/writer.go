// Package shop is the demo's database and the program that changes it.
package shop

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

// Script makes the shop's tables and their first rows; batches are separated by GO lines.
//
//go:embed shop.sql
var Script string

// Steps are the shop's day, one transaction each, in order. The number of changes that each makes is what CDC records of
// it: an update of one row is one change.
var Steps = []Step{
	{What: "a customer signs up", Changes: 1, Statements: []string{
		`INSERT dbo.customers (name, email, joined) VALUES (N'Dana Łukasz', 'dana@example.com', '2026-03-01')`}},
	{What: "an order with two lines, one transaction", Changes: 4, Statements: []string{
		`INSERT dbo.orders (customer_id, placed_at, total, state) VALUES (1, '2026-03-01T09:30:00.1234567', 32.9400, 'placed')`,
		`INSERT dbo.order_lines (order_id, line, product_id, quantity)
		 SELECT MAX(order_id), 1, '6F9619FF-8B86-D011-B42D-00C04FC964FF', 1 FROM dbo.orders`,
		`INSERT dbo.order_lines (order_id, line, product_id, quantity)
		 SELECT MAX(order_id), 2, '01234567-89AB-CDEF-0123-456789ABCDEF', 1 FROM dbo.orders`,
		`UPDATE dbo.products SET stock = stock - 1 WHERE product_id = '01234567-89AB-CDEF-0123-456789ABCDEF'`}},
	{What: "visits, a table without a key", Changes: 2, Statements: []string{
		`INSERT dbo.visits (seen_at, page) VALUES ('2026-03-01T09:31:00.250+01:00', N'/teapot'), ('2026-03-01T09:31:00.250+01:00', N'/teapot')`}},
	{What: "a price changes", Changes: 1, Statements: []string{
		`UPDATE dbo.products SET price = price * 1.05 WHERE title = N'Teapot'`}},
	{What: "the order is paid, the customer is loyal", Changes: 2, Statements: []string{
		`UPDATE dbo.orders SET state = 'paid' WHERE order_id = 1001`,
		`UPDATE dbo.customers SET loyal = 1 WHERE customer_id = 1`}},
	{What: "a second order", Changes: 2, Statements: []string{
		`INSERT dbo.orders (customer_id, placed_at, total, state) VALUES (3, '2026-03-01T10:00:00', 0.3750, 'placed')`,
		`INSERT dbo.order_lines (order_id, line, product_id, quantity)
		 SELECT MAX(order_id), 1, '0E984725-C51C-4BF4-9960-E1C80E27ABA0', 10 FROM dbo.orders`}},
	{What: "a customer moves to another e-mail address", Changes: 1, Statements: []string{
		`UPDATE dbo.customers SET email = 'chen@example.org' WHERE customer_id = 3`}},
	{What: "all stock is counted anew", Changes: 3, Statements: []string{
		`UPDATE dbo.products SET stock = stock + 100`}},
	{What: "the second order is cancelled", Changes: 2, Statements: []string{
		`DELETE dbo.order_lines WHERE order_id = 1002`,
		`DELETE dbo.orders WHERE order_id = 1002`}},
	{What: "one of two equal visits is deleted", Changes: 1, Statements: []string{
		`DELETE TOP (1) FROM dbo.visits`},
		Repeat: `UPDATE TOP (1) dbo.products SET stock = stock - 1`},
}

// Step is one transaction of the shop.
type Step struct {
	What       string
	Changes    int
	Statements []string
	Repeat     string // what to run when the step is repeated; "" = the statements
}

// Run executes the step in one transaction.
func (s Step) Run(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	for _, stmt := range s.Statements {
		if _, err := tx.ExecContext(ctx, stmt); err != nil {
			_ = tx.Rollback()
			return fmt.Errorf("changing the shop (%s): %w", s.What, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing (%s): %w", s.What, err)
	}
	return nil
}

// Again repeats what can be repeated of a step: the last statement of the shop's day, or of the touched tables.
func (s Step) Again(ctx context.Context, db *sql.DB) error {
	if s.Repeat == "" {
		return s.Run(ctx, db)
	}
	_, err := db.ExecContext(ctx, s.Repeat)
	return err
}
