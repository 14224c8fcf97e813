package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/sqljournal"
	"github.com/unavez/unavez/journal/sqljournal/sqlite"
	"github.com/unavez/unavez/providers/ipsofactura"
)

// shop is a program with a database of its own, in which the journal is a guest.
type shop struct {
	db      *sql.DB
	journal *sqljournal.Journal
	client  *unavez.Client
	out     io.Writer
}

func runShop(ctx context.Context, settings *settings, out io.Writer) error {
	s, err := openShop(ctx, settings, out)
	if err != nil {
		return err
	}
	defer s.close()
	for folio := 1; folio <= settings.sales; folio++ {
		if err := s.sell(ctx, folio); err != nil {
			return fmt.Errorf("sale %d: %w", folio, err)
		}
	}
	if err := s.drain(ctx); err != nil {
		return err
	}
	return s.reportReviews(ctx)
}

func openShop(ctx context.Context, settings *settings, out io.Writer) (*shop, error) {
	s := &shop{out: out}
	dialect := sqljournal.SQLite
	var err error
	if settings.dsn == "" {
		s.db, err = sqlite.OpenDB(settings.path)
	} else {
		dialect = sqljournal.PostgreSQL
		s.db, err = sql.Open("pgx", settings.dsn)
	}
	if err != nil {
		return nil, err
	}
	if _, err := s.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS sales (folio INTEGER PRIMARY KEY, total TEXT NOT NULL)"); err != nil {
		return nil, err
	}
	if s.journal, err = sqljournal.New(ctx, s.db, dialect); err != nil {
		return nil, err
	}
	// The short timeout makes a short lease: how long the next start waits for a claim of a dead process.
	s.client, err = unavez.New(
		ipsofactura.Provider{BaseURL: settings.provider, APIKey: "sandbox"},
		unavez.WithNamespace("tienda"), unavez.WithEnvironment(unavez.Test), unavez.WithJournal(s.journal),
		unavez.WithTimeout(time.Second), unavez.WithMaxWait(2*time.Second),
		unavez.WithHTTPClient(&http.Client{Transport: &mortal{crashes: settings.crashes}}),
	)
	return s, err
}

func (s *shop) close() {
	_ = s.journal.Close()
	_ = s.db.Close()
}

// sell commits the sale and the intent to stamp it together: there is no sale without its intent, and no intent without its sale.
func (s *shop) sell(ctx context.Context, folio int) error {
	intent, err := s.client.Prepare(&unavez.Operation{Name: unavez.InvoiceCreate, Invoice: &unavez.InvoiceParams{
		Issuer: "EKU9003173C9", Series: "T", Folio: strconv.Itoa(folio), CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Customer: unavez.Customer{RFC: "URE180429TM6", LegalName: "UNIVERSIDAD ROBOTICA ESPANOLA", TaxRegime: "601", PostalCode: "65000"},
		Items:    []unavez.Item{{ProductKey: "86121700", UnitKey: "E48", Description: "Curso", Quantity: "1", UnitPrice: "150.50"}},
	}}, unavez.WithDomainID("venta", strconv.Itoa(folio)))
	if err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing to undo after the commit
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO sales (folio, total) VALUES (%d, '150.50')", folio)); err != nil {
		return err
	}
	if err := s.journal.Enqueue(ctx, tx, intent); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "sold %d\n", folio)
	return nil
}

// drain comes back until nothing is due: what an earlier process was working on is due when its lease has ended.
func (s *shop) drain(ctx context.Context) error {
	var waits sync.Once
	for {
		for report, err := range s.journal.Drain(ctx, s.client, sqljournal.WithConcurrency(1), sqljournal.WithReservation(time.Second)) {
			switch {
			case err == nil:
				fmt.Fprintf(s.out, "stamped %s: %s\n", report.Key, report.Outcome.Invoice.UUID)
			case report.Key == "":
				return err
			case errors.Is(err, unavez.ErrRetryLater):
				fmt.Fprintf(s.out, "later %s\n", report.Key)
			default:
				fmt.Fprintf(s.out, "not stamped %s: %v\n", report.Key, err)
			}
		}
		var left int
		err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM unavez_records WHERE state IN ('queued', 'open')").Scan(&left)
		if err != nil || left == 0 {
			return err
		}
		waits.Do(func() { fmt.Fprintln(s.out, "waiting for the lease of a process that died") })
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// reportReviews prints what a person has to decide. Here that is nothing.
func (s *shop) reportReviews(ctx context.Context) error {
	rows, err := s.db.QueryContext(ctx, "SELECT idempotency_key, reason, next FROM unavez_overview WHERE state = 'review' ORDER BY seq")
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // reading; rows.Err is checked
	for rows.Next() {
		var key, reason, next string
		if err := rows.Scan(&key, &reason, &next); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "to be decided: %s, %s, %s\n", key, reason, next)
	}
	return rows.Err()
}

// mortal is a transport under which the program dies when the second answer has arrived.
type mortal struct {
	crashes bool
	answers atomic.Int32
}

func (m *mortal) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if m.answers.Add(1) == 2 && m.crashes {
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {}
	}
	return response, err
}
