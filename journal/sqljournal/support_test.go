package sqljournal_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/sqljournal"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/fiscalisto"
	"github.com/unavez/unavez/providers/ipsofactura"
	"github.com/unavez/unavez/providers/payouts"
)

const (
	atFacty       = "facty"
	atIpsofactura = "ipsofactura"
	atFiscalisto  = "fiscalisto"
	atPayouts     = "payouts"
)

func allProviders() []string { return []string{atFacty, atIpsofactura, atFiscalisto, atPayouts} }

func newProvider(name, baseURL string) unavez.Provider {
	switch name {
	case atFacty:
		return facty.Provider{BaseURL: baseURL, Org: "acme", APIKey: "k"}
	case atIpsofactura:
		return ipsofactura.Provider{BaseURL: baseURL, APIKey: "k"}
	case atFiscalisto:
		return fiscalisto.Provider{BaseURL: baseURL, APIKey: "k"}
	}
	return payouts.Provider{BaseURL: baseURL, APIKey: "k"}
}

// makeClient returns a client that sends once and never sleeps: the passes come back.
func makeClient(provider, baseURL string, journal unavez.Journal, options ...unavez.ClientOption) (*unavez.Client, error) {
	all := []unavez.ClientOption{
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test), unavez.WithJournal(journal), unavez.WithMaxWait(0),
		unavez.WithHTTPClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}),
	}
	return unavez.New(newProvider(provider, baseURL), append(all, options...)...)
}

func newClient(t testing.TB, provider, baseURL string, journal unavez.Journal, options ...unavez.ClientOption) *unavez.Client {
	t.Helper()
	client, err := makeClient(provider, baseURL, journal, options...)
	require.NoError(t, err)
	return client
}

// operation returns the n-th write of the provider: another body for each n.
func operation(provider string, n int) *unavez.Operation {
	item := unavez.Item{ProductKey: "86121700", UnitKey: "E48", Description: fmt.Sprint("Servicio ", n), Quantity: "2", UnitPrice: "150.50"}
	customer := unavez.Customer{RFC: "URE180429TM6", LegalName: "UNIVERSIDAD ROBOTICA ESPANOLA", TaxRegime: "601", PostalCode: "65000"}
	invoice := &unavez.InvoiceParams{Customer: customer, PaymentForm: "03"}
	switch provider {
	case atPayouts:
		return &unavez.Operation{Name: unavez.PayoutCreate, Payout: &unavez.PayoutParams{
			QuoteID: fmt.Sprintf("11111111-2222-4333-8444-%012d", n), Method: "pago_movil", BeneficiaryID: "66666666-7777-4888-9999-000000000000",
		}}
	case atFacty:
		item.TaxObject, item.Taxes = "02", []unavez.Tax{{Type: "002", Rate: "0.16"}}
		invoice.Customer, invoice.CFDIUse, invoice.PaymentMethod = unavez.Customer{ID: "cli_1"}, "G03", "PUE"
	case atIpsofactura:
		invoice.Issuer, invoice.Series, invoice.Folio, invoice.CFDIUse, invoice.PaymentMethod = "EKU9003173C9", "B", fmt.Sprint(n), "G03", "PUE"
	case atFiscalisto:
		item.UnitKey = ""
	}
	invoice.Items = []unavez.Item{item}
	return &unavez.Operation{Name: unavez.InvoiceCreate, Invoice: invoice}
}

func prepare(t testing.TB, client *unavez.Client, provider string, n int) unavez.Intent {
	t.Helper()
	intent, err := client.Prepare(operation(provider, n), unavez.WithDomainID("op", fmt.Sprint(n)))
	require.NoError(t, err)
	return intent
}

// enqueue records the intent in a transaction of its own.
func enqueue(ctx context.Context, journal *sqljournal.Journal, db *sql.DB, intent unavez.Intent) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := journal.Enqueue(ctx, tx, intent); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
