package unavez_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/internal/memnet"
	"github.com/unavez/unavez/sandbox"
)

func TestEveryAttemptCarriesTheBytesOfTheFirst(t *testing.T) {
	t.Parallel()
	for _, c := range everySandboxWrite(t) {
		for _, isKept := range []bool{true, false} {
			t.Run(fmt.Sprint(c, " keep-alive ", isKept), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newSandbox(t)
					b.transport.DisableKeepAlives = !isKept
					client := b.client(c.provider)
					prepare(t, c, client)
					b.server.Script(sandbox.TooMany("1"))
					if c.provider != atFacty { // where a request is known by its body, one of which nothing was read cannot be counted
						b.server.Script(sandbox.Refuse())
					}
					b.server.Script(sandbox.TooMany(""), sandbox.TooMany("2"))

					_, _ = c.do(t.Context(), client, testKey)

					writes := arrived(b.server, c, testKey)
					require.Greater(t, len(writes), 1, "there was no second attempt")
					first := writes[0]
					for i, write := range writes {
						if len(write.Body) == 0 && write.ContentLength > 0 {
							continue // refused before its body was read
						}
						require.Equal(t, string(first.Body), string(write.Body), "bytes of attempt %d", i+1)
						require.Equal(t, first.Header, write.Header, "headers of attempt %d", i+1)
						require.Equal(t, int64(len(first.Body)), write.ContentLength, "length of attempt %d", i+1)
					}
				})
			})
		}
	}
}

// earlyServer answers the first requests before it has read their body, and keeps what it read of the later ones.
type earlyServer struct {
	mu     sync.Mutex
	early  int
	bodies []string
}

func (s *earlyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // where the early answer was lost on the way
		_, _ = io.WriteString(w, `{"invoices":[]}`)
		return
	}
	s.mu.Lock()
	s.early--
	isEarly := s.early >= 0
	s.mu.Unlock()
	if isEarly {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || int64(len(body)) != r.ContentLength {
		body = []byte("read " + fmt.Sprint(len(body), err))
	}
	s.bodies = append(s.bodies, string(body))
	if len(s.bodies) < 2 {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"id":"po_1","status":"processing","uuid":"`+testUUID+`","folio_fiscal":"`+testUUID+`","paymentId":"pay_1"}`)
}

func TestAttemptAfterAnEarlyAnswerCarriesTheWholeBody(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, size := range []int{10, 300 << 10, 2 << 20} {
			for _, isKept := range []bool{true, false} {
				t.Run(fmt.Sprint(provider, " ", size, " keep-alive ", isKept), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						listener, handler := memnet.Listen(), &earlyServer{early: 2}
						server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
						done := make(chan struct{})
						go func() { defer close(done); _ = server.Serve(listener) }()
						transport := &http.Transport{DialContext: listener.DialContext, DisableKeepAlives: !isKept}
						t.Cleanup(func() {
							transport.CloseIdleConnections()
							_ = server.Close()
							<-done
							time.Sleep(time.Second) // net/http closes late where it has not read the whole request
						})
						client := newClient(t, provider, "http://127.0.0.1", transport)
						extra := map[string]any{"nota": strings.Repeat("ñ", size/2)}
						var err error
						if provider == atPayouts {
							params := payoutParams()
							params.Extra = extra
							_, err = client.Payouts.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
						} else {
							params := invoiceParams(provider)
							params.Extra = extra
							_, err = client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
						}
						require.NoError(t, err)
						require.Len(t, handler.bodies, 2)
						require.Equal(t, handler.bodies[0], handler.bodies[1])
						require.Contains(t, handler.bodies[0], extra["nota"])
					})
				})
			}
		}
	}
}

func TestOneRecordHasOneBodyInEveryProcess(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			var first unavez.Intent
			for round := range 60 {
				extra := map[string]any{}
				for i := range 40 { // every round builds its maps anew, and Go orders each as it likes
					extra[fmt.Sprint("campo", (i*7+round)%40)] = map[string]any{"b": (i*7 + round) % 40, "a": []any{"x"}, "c": map[string]int{"z": 1, "y": 2}}
				}
				operation := &unavez.Operation{Name: unavez.InvoiceCreate}
				if provider == atPayouts {
					params := payoutParams()
					params.Extra = extra
					operation.Name, operation.Payout = unavez.PayoutCreate, params
				} else {
					params := invoiceParams(provider)
					params.Extra = extra
					operation.Invoice = params
				}
				intent, err := newMock(t, provider).client.Prepare(operation, unavez.WithIdempotencyKey(testKey))
				require.NoError(t, err)
				if round == 0 {
					first = intent
				}
				require.Equal(t, string(first.Body), string(intent.Body), "round %d", round)
				require.Equal(t, first.Fingerprint, intent.Fingerprint)
			}
		})
	}
}

// operationOf is the main write of a provider, for Prepare.
func operationOf(provider string) *unavez.Operation {
	if provider == atPayouts {
		return &unavez.Operation{Name: unavez.PayoutCreate, Payout: payoutParams()}
	}
	return &unavez.Operation{Name: unavez.InvoiceCreate, Invoice: invoiceParams(provider)}
}

func TestRecordedIntentIsSentAsPreparedByAnotherClient(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, b := mainCase(t, provider), newMock(t, provider)
				intent, err := b.client.Prepare(operationOf(provider), unavez.WithIdempotencyKey(testKey))
				require.NoError(t, err)
				require.Empty(t, b.all(), "Prepare does no I/O")
				b.play(answer(429, ""), answer(201, c.success))

				outcome, err := b.newClient().Send(t.Context(), intent)

				require.NoError(t, err)
				require.NotEmpty(t, outcome.Raw)
				require.Len(t, b.writes(), 2)
				for _, write := range b.writes() {
					require.Equal(t, string(intent.Body), write.Body)
					require.Equal(t, intent.Path, write.Path)
					require.Equal(t, testKey, keyOnWire(write.Header, []byte(write.Body)))
				}
				_, err = c.do(t.Context(), b.newClient(), testKey)
				require.NoError(t, err, "Create of the same record is the same operation")
				require.Len(t, b.writes(), 2)
			})
		})
	}
}

func TestIntentThatWasChangedIsNotSent(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(intent *unavez.Intent){
		"a byte of the body": func(i *unavez.Intent) { i.Body = []byte(strings.Replace(string(i.Body), ":", " :", 1)) },
		"no body":            func(i *unavez.Intent) { i.Body = nil },
		"path":               func(i *unavez.Intent) { i.Path += "x" },
		"method":             func(i *unavez.Intent) { i.Method = http.MethodPut },
		"operation":          func(i *unavez.Intent) { i.Operation = unavez.InvoiceStampXML },
		"account":            func(i *unavez.Intent) { i.Account += "x" },
		"provider":           func(i *unavez.Intent) { i.Provider = "x" },
	} {
		for _, provider := range allProviders() {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				b := newMock(t, provider)
				intent, err := b.client.Prepare(operationOf(provider), unavez.WithIdempotencyKey(testKey))
				require.NoError(t, err)
				change(&intent)

				_, err = b.newClient().Send(t.Context(), intent)

				require.ErrorIs(t, err, unavez.ErrRefused)
				require.Empty(t, b.all())
			})
		}
	}
}

func TestParametersThatChangeDuringTheCallDoNotChangeTheBytes(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atFacty, atIpsofactura, atFiscalisto} {
		for _, isRaw := range []bool{true, false} {
			t.Run(fmt.Sprint(provider, " raw ", isRaw), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					params := invoiceParams(provider)
					nested := map[string]any{"a": "before"}
					params.Extra = map[string]any{"nota": nested}
					if isRaw {
						params = &unavez.InvoiceParams{Raw: []byte(`{"type":"ingreso","nota":"before"}`)}
					}
					var b *mockBundle
					spoil := unavez.WithObserver(func(_ context.Context, event unavez.Event) {
						if event.Kind != unavez.EventWait {
							return
						}
						nested["a"] = "after!"
						if isRaw {
							copy(params.Raw[len(params.Raw)-9:], `after!`)
						} else {
							params.Items[0].Description, params.PaymentForm = "after!", "99"
						}
					})
					b = newMock(t, provider, spoil)
					b.play(answer(429, ""), answer(429, ""), answer(201, mainCase(t, provider).success))

					_, err := b.client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))

					require.NoError(t, err)
					require.Len(t, b.writes(), 3)
					requireSameBytes(t, b.writes())
					require.Contains(t, b.writes()[2].Body, "before")
				})
			})
		}
	}
}

func TestKeyWithOtherBytesIsReusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atFacty, atIpsofactura, atFiscalisto} {
		c := mainCase(t, provider)
		for name, row := range map[string]struct {
			first       reply
			disposition unavez.Disposition
			isFree      bool
		}{
			"after a document":     {answer(201, c.success), unavez.Refused, false},
			"while unresolved":     {lostAnswer(), unavez.NeedsManualReview, false},
			"after a 401":          {answer(401, ""), unavez.Refused, false},
			"after a refused dial": {noConnection(), unavez.NeedsManualReview, false},
			"after the same key may be fixed": {map[string]reply{
				atFacty: answer(422, `{"fieldErrors":{"items":"x"}}`), atFiscalisto: answer(422, `{"error":{"code":"invoice_invalid"}}`),
				atIpsofactura: answer(422, ``),
			}[provider], unavez.Refused, provider != atIpsofactura},
		} {
			for _, isRestart := range []bool{false, true} {
				t.Run(fmt.Sprint(provider, " ", name, " restart ", isRestart), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						b := newMock(t, provider)
						b.play(row.first)
						if row.first.err != nil && !row.first.unsent && provider == atFacty {
							b.play(answer(502, ""))
						}
						_, _ = c.do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
						client, sent := b.client, len(b.all())
						if isRestart {
							client = b.newClient()
						}
						params := invoiceParams(provider)
						params.Items[0].Quantity = "3"
						if row.isFree {
							b.play(answer(201, c.success))
						}

						_, err := client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))

						if row.isFree {
							require.NoError(t, err)
							return
						}
						e := requireError(t, err)
						require.ErrorIs(t, err, unavez.ErrKeyReused)
						require.Equal(t, row.disposition, e.Disposition)
						require.Len(t, b.all(), sent, "something was sent")
					})
				})
			}
		}
	}
}
