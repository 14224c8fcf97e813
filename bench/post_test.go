package bench_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stripe/stripe-go/v85"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/sqljournal"
	"github.com/unavez/unavez/journal/sqljournal/sqlite"
)

// post does one write under a key and reads its answer.
type post func(ctx context.Context, i int) (uuid string, err error)

// contender is a client of the comparison.
type contender struct {
	name string
	post func(testing.TB, place) post
}

func peers() []contender {
	return []contender{
		{"net-http", bare},
		{"net-http-timeout", bareWithTimeout},
		{"go-retryablehttp", retryable},
		{"stripe-go", viaStripe},
		{"unavez", viaSDK},
		{"unavez-cancellable", viaCancellableSDK},
		{"unavez-sqlite", viaSQLite},
		{"unavez-postgresql", viaPostgreSQL},
	}
}

// BenchmarkPost is one write that succeeds, by every client: key, encoding, request, answer, decoding.
//
// The journals on disk are there for the scale: two durable commits are their price, whoever makes them. PostgreSQL needs
// UNAVEZ_BENCH_POSTGRES, the address of an empty database; openai-go needs the build tag openai, since it takes minutes to compile.
func BenchmarkPost(b *testing.B) {
	for _, at := range places(b) {
		for _, client := range append(peers(), openAI()...) {
			b.Run(at.name+"/"+client.name, func(b *testing.B) {
				send := client.post(b, at)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, err := send(context.Background(), i); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestEveryClientReadsTheAnswer keeps the benchmark honest: all of them do the whole work.
func TestEveryClientReadsTheAnswer(t *testing.T) {
	t.Parallel()
	at := places(t)[0]
	for _, client := range append(peers(), openAI()...) {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			uuid, err := client.post(t, at)(t.Context(), 1)
			if err != nil || uuid != "5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55" {
				t.Errorf("read %q, %v", uuid, err)
			}
		})
	}
}

func bare(_ testing.TB, at place) post { return viaNetHTTP(at, 0) }

// bareWithTimeout is what the providers' pages ask for: nobody should wait for ever.
func bareWithTimeout(_ testing.TB, at place) post { return viaNetHTTP(at, 30*time.Second) }

func viaNetHTTP(at place, timeout time.Duration) post {
	client := &http.Client{Transport: at.transport, Timeout: timeout}
	return func(ctx context.Context, i int) (string, error) {
		data, err := json.Marshal(newBody(key(i)))
		if err != nil {
			return "", err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.baseURL+invoicesPath, bytes.NewReader(data))
		if err != nil {
			return "", err
		}
		setHeader(request.Header)
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		return readInvoice(response)
	}
}

func readInvoice(response *http.Response) (string, error) {
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var found invoice
	err = json.Unmarshal(data, &found)
	return found.UUID, err
}

func retryable(_ testing.TB, at place) post {
	client := retryablehttp.NewClient()
	client.HTTPClient, client.Logger = &http.Client{Transport: at.transport}, nil
	return func(ctx context.Context, i int) (string, error) {
		data, err := json.Marshal(newBody(key(i)))
		if err != nil {
			return "", err
		}
		request, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, at.baseURL+invoicesPath, data)
		if err != nil {
			return "", err
		}
		setHeader(request.Header)
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		return readInvoice(response)
	}
}

type stripeInvoice struct {
	stripe.APIResource
	invoice
}

// viaStripe sends JSON, which is cheaper than the forms that the package sends elsewhere.
func viaStripe(_ testing.TB, at place) post {
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		HTTPClient: &http.Client{Transport: at.transport}, URL: stripe.String(at.baseURL),
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})
	return func(ctx context.Context, i int) (string, error) {
		data, err := json.Marshal(newBody(key(i)))
		if err != nil {
			return "", err
		}
		header := http.Header{}
		setHeader(header)
		var found stripeInvoice
		params := &stripe.Params{Context: ctx, Headers: header, IdempotencyKey: stripe.String(key(i))}
		err = backend.CallRaw(http.MethodPost, "/v1/invoices", "fk_1", data, params, &found)
		return found.UUID, err
	}
}

func newSDK(tb testing.TB, at place, options ...unavez.ClientOption) *unavez.Client {
	tb.Helper()
	all := append([]unavez.ClientOption{
		unavez.WithHTTPClient(&http.Client{Transport: at.transport}), unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
	}, options...)
	client, err := unavez.New(provider(at.baseURL), all...)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

func create(client *unavez.Client, kind string) post {
	invoice := params()
	return func(ctx context.Context, i int) (string, error) {
		found, err := client.Invoices.Create(ctx, invoice, unavez.WithDomainID(kind, strconv.Itoa(i)))
		if err != nil {
			return "", err
		}
		return found.UUID, nil
	}
}

func viaSDK(tb testing.TB, at place) post {
	tb.Helper()
	return create(newSDK(tb, at), "factura")
}

// viaCancellableSDK has a caller that may leave, as in a web server: the operation has a goroutine of its own then.
func viaCancellableSDK(tb testing.TB, at place) post {
	tb.Helper()
	send := create(newSDK(tb, at), "factura")
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	return func(_ context.Context, i int) (string, error) { return send(ctx, i) }
}

func viaSQLite(tb testing.TB, at place) post {
	tb.Helper()
	journal, err := sqlite.Open(filepath.Join(tb.TempDir(), "journal.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := journal.Close(); err != nil {
			tb.Error(err)
		}
	})
	return create(newSDK(tb, at, unavez.WithJournal(journal)), "factura")
}

func viaPostgreSQL(tb testing.TB, at place) post {
	tb.Helper()
	address := os.Getenv("UNAVEZ_BENCH_POSTGRES")
	if address == "" {
		tb.Skip("UNAVEZ_BENCH_POSTGRES is not set: no PostgreSQL to measure")
	}
	db, err := sql.Open("pgx", address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	journal, err := sqljournal.New(context.Background(), db, sqljournal.PostgreSQL)
	if err != nil {
		tb.Fatal(err)
	}
	return create(newSDK(tb, at, unavez.WithJournal(journal)), "run-"+strconv.Itoa(os.Getpid())+"-"+strconv.FormatInt(time.Now().UnixNano(), 36))
}
