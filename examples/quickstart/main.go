// Command quickstart stamps the invoices of a folder while everything goes wrong that goes wrong at night: answers are lost, connections are
// reset, bodies are cut, a gateway speaks HTML, the tax authority says nothing for a while, or no.
//
// It needs no account, no key and no network: the providers are played by package sandbox, on a loopback socket of this process. It prints
// one line for each record and a last line that counts the stamps issued for each key, and fails if one was stamped twice.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -provider all
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

func main() {
	provider := flag.String("provider", "facty", "facty, ipsofactura, fiscalisto, payouts or all")
	folder := flag.String("invoices", "testdata/invoices", "the folder with the invoices, one JSON file each")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, onLoopback, *provider, *folder); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// stage opens a sandbox and says how to reach it.
type stage func() (*sandbox.Server, string, []unavez.ClientOption, error)

// onLoopback is the stage of the program: a socket of this process.
func onLoopback() (*sandbox.Server, string, []unavez.ClientOption, error) {
	server := sandbox.New()
	if err := server.Listen(); err != nil {
		return nil, "", nil, err
	}
	url := server.URL()
	return server, url, nil, nil
}

var errTwice = errors.New("a key was stamped twice")

// run sends the invoices of the folder through one provider, or through each, and prints what came of it.
func run(ctx context.Context, w io.Writer, open stage, provider, folder string) error {
	invoices, err := readInvoices(os.DirFS(folder))
	if err != nil {
		return err
	}
	chosen, err := choose(provider)
	if err != nil {
		return err
	}
	var batches []*batch
	for _, api := range chosen {
		b, err := newBatch(api, open, invoices)
		if err != nil {
			return err
		}
		batches = append(batches, b)
	}
	defer closeAll(batches)

	sendAll(ctx, batches)
	if err := printTable(w, batches); err != nil {
		return err
	}
	if err := onceMore(ctx, w, batches); err != nil {
		return err
	}
	return printTotals(w, batches)
}

func closeAll(batches []*batch) {
	for _, b := range batches {
		_ = b.server.Close()
	}
}

// onceMore is a crash that loses all memory, and then the same batch again.
func onceMore(ctx context.Context, w io.Writer, batches []*batch) error {
	before := count(batches)
	for _, b := range batches {
		if err := b.forget(); err != nil {
			return err
		}
	}
	sendAll(ctx, batches)
	after := count(batches)
	fmt.Fprintf(w, "\nOnce more, by a process that remembers nothing and waits for nothing: %d requests, "+
		"and %d records that were still open got their one stamp or payout.\n",
		after.requests-before.requests, after.issued-before.issued)
	return nil
}

// totals are what the sandboxes saw and issued, whatever the client was told.
type totals struct {
	records, requests, issued int
	// never, once and twice count the keys by what was issued for them.
	never, once, twice int
}

func count(batches []*batch) totals {
	var t totals
	for _, b := range batches {
		t.records += len(b.calls)
		t.requests += len(b.server.Requests())
		t.issued += len(b.server.Ledger())
		for i := range b.calls {
			switch b.server.Effects(b.calls[i].key) {
			case 0:
				t.never++
			case 1:
				t.once++
			default:
				t.twice++
			}
		}
	}
	return t
}

func printTotals(w io.Writer, batches []*batch) error {
	t := count(batches)
	fmt.Fprintf(w, "%d records, %d requests; stamps or payouts per key: %d keys with 1, %d keys with 0, %d keys with 2 or more.\n",
		t.records, t.requests, t.once, t.never, t.twice)
	if t.twice > 0 {
		return errTwice
	}
	return nil
}
