package sandbox_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/internal/memnet"
	"github.com/unavez/unavez/sandbox"
)

// testBundle is a server and a client in one network.
type testBundle struct {
	*sandbox.Server
	t      testing.TB
	base   string
	client *http.Client
}

// bubble runs a test in virtual time, over a network in memory.
func bubble(t *testing.T, test func(b *testBundle), opts ...sandbox.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(setup(t, opts...)) })
}

func setup(t testing.TB, opts ...sandbox.Option) *testBundle {
	t.Helper()
	l := memnet.Listen()
	srv := sandbox.New(opts...)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	transport := &http.Transport{DialContext: l.DialContext, DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = srv.Close()
		require.NoError(t, <-served)
		// net/http waits half a second before it closes a connection on which it
		// has not read the whole request.
		time.Sleep(time.Second)
	})
	return &testBundle{Server: srv, t: t, base: "http://127.0.0.1", client: newClient(transport)}
}

func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// reply is what one request brought.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

// member returns a member of the body, or of the object below a dot.
func (r reply) member(path string) string {
	text := []byte(r.body)
	for name := range strings.SplitSeq(path, ".") {
		var o map[string]json.RawMessage
		if json.Unmarshal(text, &o) != nil {
			return ""
		}
		text = o[name]
	}
	return strings.Trim(string(text), `"`)
}

func (b *testBundle) do(ctx context.Context, method, path, body string, header ...string) reply {
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, strings.NewReader(body))
	require.NoError(b.t, err)
	req.GetBody = nil // net/http must not send a write again
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := b.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: string(text), err: err}
}

func (b *testBundle) post(path, body string, header ...string) reply {
	return b.do(b.t.Context(), http.MethodPost, path, body, header...)
}

func (b *testBundle) get(path string, header ...string) reply {
	return b.do(b.t.Context(), http.MethodGet, path, "", header...)
}

// postWithin gives up after d, as a client with a timeout does.
func (b *testBundle) postWithin(d time.Duration, path, body string, header ...string) reply {
	ctx, cancel := context.WithTimeout(b.t.Context(), d)
	defer cancel()
	return b.do(ctx, http.MethodPost, path, body, header...)
}

// One write and one way to ask for it, at each provider.
const (
	factyPath  = "/authenticated/acme/invoices"
	ipsoPath   = "/cfdi/timbrar"
	fiscalPath = "/v1/invoices"
	payoutPath = "/v1/payouts"

	ipsoBody = `{"rfc_emisor":"EKU9003173C9","serie":"B","folio":"77","tipo_comprobante":"I"}`
	fisBody  = `{"customer":"cus_1","payment_form":"03","items":[{"quantity":1,"unit_price":900}]}`
	payBody  = `{"quoteId":"q-1","method":"pago_movil","beneficiaryId":"b-1"}`
)

func factyBody(key string) string {
	return `{"type":"ingreso","idempotencyKey":"` + key + `","items":[{"quantity":2,"unitPrice":150.50,"iva":0.16}]}`
}

func (b *testBundle) facty(key string) reply {
	return b.post(factyPath, factyBody(key), "X-API-Key", "fk_1")
}

func (b *testBundle) factyList(query string) reply {
	return b.get(factyPath+query, "X-API-Key", "fk_1")
}

func (b *testBundle) ipso(key string) reply {
	return b.post(ipsoPath, ipsoBody, "x-api", "k", "Idempotency-Key", key)
}

func (b *testBundle) fiscal(key string) reply {
	return b.post(fiscalPath, fisBody, "Authorization", "Bearer k", "Idempotency-Key", key)
}

func (b *testBundle) payout(key string) reply {
	return b.post(payoutPath, payBody, "x-api-key", "k", "Idempotency-Key", key)
}

// send sends the one write of a provider.
func (b *testBundle) send(p sandbox.Provider, key string) reply {
	switch p {
	case sandbox.Facty:
		return b.facty(key)
	case sandbox.Ipsofactura:
		return b.ipso(key)
	case sandbox.Fiscalisto:
		return b.fiscal(key)
	default:
		return b.payout(key)
	}
}

// providers is every provider, in a fixed order.
func providers() []sandbox.Provider {
	return []sandbox.Provider{sandbox.Facty, sandbox.Ipsofactura, sandbox.Fiscalisto, sandbox.Payouts}
}

// each runs a subtest in virtual time for every provider.
func each(t *testing.T, test func(b *testBundle, p sandbox.Provider), opts ...sandbox.Option) {
	t.Helper()
	for _, p := range providers() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) { test(b, p) }, opts...)
		})
	}
}

const key = "mi-erp:test:factura:77"

// wait lets the virtual time pass.
func wait(d time.Duration) { time.Sleep(d) }
