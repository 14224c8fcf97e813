package unavez_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// doubt is what a provider's page says of a write whose outcome nobody knows.
type doubt string

const (
	// isResent: the same request again, under the same key.
	isResent doubt = "resent"
	// isAsked: looked up, and an empty list is documented as "never arrived".
	isAsked doubt = "asked"
	// isAskedOnly: looked up, and an empty list proves nothing.
	isAskedOnly doubt = "asked only"
	// isLeft: nothing is documented.
	isLeft doubt = "left"
)

// doubtOf reads the rule for ambiguity off the providers' pages, apart from the code under test.
func (c writeCase) doubtOf() doubt {
	switch {
	case c.provider != atFacty:
		return isResent
	case c.operation == unavez.InvoiceCreate:
		return isAsked
	case c.operation == unavez.PaymentCancel:
		return isLeft
	}
	return isAskedOnly
}

// String names the write in the name of a subtest.
func (c writeCase) String() string {
	name := c.provider + " " + string(c.operation)
	if strings.HasSuffix(c.path, "sellado") {
		name += " sealed"
	}
	return name
}

// isListed says that the sandbox shows a lookup what the write made.
func (c writeCase) isListed() bool {
	return c.provider == atFacty && c.operation != unavez.RetentionCreate && c.operation != unavez.PaymentCancel
}

// carriesKey says that the write has its key on the wire.
func (c writeCase) carriesKey() bool {
	return c.provider != atFacty || !strings.HasSuffix(c.path, "/cancel")
}

// everyWrite returns every write of every provider.
func everyWrite(tb testing.TB) []writeCase {
	tb.Helper()
	var all []writeCase
	for _, provider := range allProviders() {
		all = append(all, writeCases(tb, provider)...)
	}
	return all
}

// everySandboxWrite is everyWrite, in the form that the sandbox takes once prepare has run.
func everySandboxWrite(tb testing.TB) []writeCase {
	tb.Helper()
	all := everyWrite(tb)
	for i, c := range all {
		if c.provider != atIpsofactura || c.operation != unavez.InvoiceCancel {
			continue
		}
		all[i].call = func(ctx context.Context, client *unavez.Client, options []unavez.CallOption) (*result, error) {
			cancelled, err := client.Invoices.Cancel(ctx, &unavez.CancelParams{ID: "cfdi_1", Motive: "02"}, options...)
			return cancelResult(cancelled), err
		}
	}
	return all
}

// prepare makes what the writes of the sandbox refer to: an invoice, and at Facty a recorded payment.
func prepare(tb testing.TB, c writeCase, client *unavez.Client) {
	tb.Helper()
	switch c.operation {
	case unavez.InvoiceCancel, unavez.PaymentStamp, unavez.PaymentCancel:
	default:
		return
	}
	ctx := context.Background()
	_, err := client.Invoices.Create(ctx, invoiceParams(c.provider), unavez.WithIdempotencyKey("prepared:invoice"))
	require.NoError(tb, err)
	if c.provider == atFacty {
		params := paymentParams(atFacty)
		params.StampNow = false
		_, err = client.Payments.Create(ctx, params, unavez.WithIdempotencyKey("prepared:payment"))
		require.NoError(tb, err)
	}
}

// keyOnWire reads the key that a request carries.
func keyOnWire(header http.Header, body []byte) string {
	if key := header.Get("Idempotency-Key"); key != "" {
		return key
	}
	var members struct {
		Key string `json:"idempotencyKey"`
	}
	_ = json.Unmarshal(body, &members)
	return members.Key
}

// arrived returns the requests of the write under the key that reached the server, in order.
func arrived(server *sandbox.Server, c writeCase, key string) []sandbox.Request {
	var found []sandbox.Request
	for _, request := range server.Requests() {
		if request.Method != http.MethodPost || request.Path != c.path {
			continue
		}
		if !c.carriesKey() || keyOnWire(request.Header, request.Body) == key {
			found = append(found, request)
		}
	}
	return found
}

// effects counts what the ledger holds of the write.
func effects(server *sandbox.Server, c writeCase, key string) int {
	count := 0
	for _, entry := range server.Ledger() {
		if entry.Key == key || !c.carriesKey() && entry.Operation == sandbox.OpCancel {
			count++
		}
	}
	return count
}

// countWrites counts the writes among attempts.
func countWrites(attempts []unavez.Attempt) int {
	count := 0
	for _, attempt := range attempts {
		if attempt.Kind == unavez.AttemptWrite {
			count++
		}
	}
	return count
}

// watch keeps what an observer is told. It is safe for concurrent use.
type watch struct {
	mu     sync.Mutex
	events []unavez.Event
}

func (w *watch) option() unavez.ClientOption {
	return unavez.WithObserver(func(_ context.Context, event unavez.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, event)
	})
}

// attempts returns every attempt under the key that the observer saw end.
func (w *watch) attempts(key string) []unavez.Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []unavez.Attempt
	for _, event := range w.events {
		if event.Key == key && event.Attempt != nil {
			found = append(found, *event.Attempt)
		}
	}
	return found
}

// anotherUUID is a UUID that is always the same for a seed.
func anotherUUID(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return fmt.Sprintf("%X-%X-%X-%X-%X", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// loopback returns a client over real sockets. An empty transport means the client's own.
func loopback(tb testing.TB, provider, base string, transport *http.Transport, options ...unavez.ClientOption) *unavez.Client {
	tb.Helper()
	all := []unavez.ClientOption{unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test)}
	if transport != nil {
		tb.Cleanup(transport.CloseIdleConnections)
		all = append(all, unavez.WithHTTPClient(&http.Client{Transport: transport}))
	}
	client, err := unavez.New(newProvider(tb, provider, base), append(all, options...)...)
	require.NoError(tb, err)
	return client
}
