// Outbox is a shop that sells, crashes and comes back. Each sale and the intent to stamp it are committed in one transaction;
// a drain sends the intents; and when the process dies between the stamp and its note of it, the next start finds the
// stamp instead of making a second one.
//
//	go run .                                   the shop's database is an SQLite file
//	go run . -dsn postgres://user@host/shop    PostgreSQL, which replicas could share
//
// The provider is the sandbox, so nothing is stamped for real. This program starts itself twice as the shop: the first one
// is killed in the middle of its work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/unavez/unavez/sandbox"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "outbox:", err)
		os.Exit(1)
	}
}

// settings are the flags of the tour, which hands them on to the shop.
type settings struct {
	path, dsn string
	provider  string
	sales     int
	crashes   bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("outbox", flag.ContinueOnError)
	flags.StringVar(&s.path, "path", "", "the SQLite file of the shop (a temporary one if empty)")
	flags.StringVar(&s.dsn, "dsn", "", "a PostgreSQL database for the shop, instead of SQLite")
	flags.StringVar(&s.provider, "provider", "", "run the shop itself against the provider at this address")
	flags.IntVar(&s.sales, "sales", 3, "how many sales the shop makes before it sends")
	flags.BoolVar(&s.crashes, "crash", false, "the shop dies when the second stamp has arrived and is not noted yet")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.provider != "" {
		return runShop(ctx, &s, out)
	}
	return tour(ctx, &s, out)
}

// tour is the world around the shop: a provider that goes on when the shop dies, and somebody who starts it again.
func tour(ctx context.Context, s *settings, out io.Writer) error {
	if s.path == "" && s.dsn == "" {
		folder, err := os.MkdirTemp("", "outbox")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder) //nolint:errcheck // temporary
		s.path = filepath.Join(folder, "shop.db")
	}
	server := sandbox.New()
	if err := server.Listen(); err != nil {
		return err
	}
	defer server.Close() //nolint:errcheck // the end of the tour
	s.provider = server.URL()

	fmt.Fprintln(out, "-- the shop opens, and is killed with a stamp in its hands")
	s.crashes = true
	var died *exec.ExitError
	if err := startShop(ctx, s, out); !errors.As(err, &died) {
		return fmt.Errorf("the shop was to be killed: %w", err)
	}
	fmt.Fprintf(out, "-- killed. The provider has stamped %d of %d sales\n", server.Stamps(), s.sales)

	fmt.Fprintln(out, "-- the shop opens again")
	s.crashes = false
	s.sales = 0
	if err := startShop(ctx, s, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "-- closed. Stamps at the provider: %d\n", server.Stamps())
	return nil
}

// startShop starts this program as the shop, in a process of its own.
func startShop(ctx context.Context, s *settings, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	shop := exec.CommandContext(ctx, self, "-path", s.path, "-dsn", s.dsn, "-provider", s.provider, //nolint:gosec // itself
		fmt.Sprint("-sales=", s.sales), fmt.Sprint("-crash=", s.crashes))
	shop.Env = append(os.Environ(), "OUTBOX_SHOP=1")
	shop.Stdout, shop.Stderr = out, os.Stderr
	return shop.Run()
}
