package unavez_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// click is what one caller of many got.
type click struct {
	made *result
	err  error
}

// clicks lets n callers do one write at the same moment, and waits for all of them.
func clicks(n int, call func(i int) (*result, error)) []click {
	got := make([]click, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { got[i].made, got[i].err = call(i) })
	}
	group.Wait()
	return got
}

// crowdFaults are what can happen to the first writes of a crowd.
func crowdFaults() []sandbox.Fault {
	return []sandbox.Fault{
		sandbox.Pass(), sandbox.Slow(3 * time.Second), sandbox.Late(3 * time.Second), sandbox.CloseAfter(), sandbox.CloseBefore(), sandbox.HangAfter(),
		sandbox.HangBefore(), sandbox.CutBody(7), sandbox.TooMany("1"), sandbox.HTML(502), sandbox.HTML(502).AfterCommit(), sandbox.StayPending(4 * time.Second),
		sandbox.Queue(3 * time.Second), sandbox.GzipCut(), sandbox.Status(500, ""), sandbox.OutcomeUnknown(), sandbox.Interrupt(),
	}
}

func TestCrowdWithOneKeyHasOneEffect(t *testing.T) {
	t.Parallel()
	const callers = 8
	for _, sharing := range []string{"one client", "a shared journal", "separate journals"} {
		for _, c := range everySandboxWrite(t) {
			if !c.carriesKey() && sharing == "separate journals" {
				continue // a cancellation at Facty has no key that the provider could know it by
			}
			for _, fault := range crowdFaults() {
				t.Run(sharing+" "+c.String()+" "+fault.String(), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						b, journal := newSandbox(t), unavez.NewMemoryJournal(0)
						one := b.client(c.provider, unavez.WithTimeout(2*time.Second))
						prepare(t, c, one)
						b.server.Script(fault)
						clients := make([]*unavez.Client, callers)
						for i := range clients {
							switch sharing {
							case "one client":
								clients[i] = one
							case "a shared journal":
								clients[i] = b.client(c.provider, unavez.WithTimeout(2*time.Second), unavez.WithJournal(journal))
							default:
								clients[i] = b.client(c.provider, unavez.WithTimeout(2*time.Second))
							}
						}

						got := clicks(callers, func(i int) (*result, error) { return c.do(t.Context(), clients[i], testKey) })

						requireOneEffect(t, b, c, got)
						time.Sleep(5 * time.Minute)
						require.LessOrEqual(t, effects(b.server, c, testKey), 1, "an effect that came later")
					})
				})
			}
		}
	}
}

// requireOneEffect asks that the crowd did it at most once, and that nobody was told otherwise.
func requireOneEffect(t *testing.T, b *sandboxBundle, c writeCase, got []click) {
	t.Helper()
	require.LessOrEqual(t, effects(b.server, c, testKey), 1, "done twice")
	bodies, papers := map[string]bool{}, map[string]bool{}
	for _, write := range arrived(b.server, c, testKey) {
		bodies[string(write.Body)] = true
	}
	require.LessOrEqual(t, len(bodies), 1, "the callers sent different bytes")
	for _, click := range got {
		if click.err != nil {
			e := requireError(t, click.err)
			require.NotEqual(t, unavez.Refused, e.Disposition, "%v: a double click is no mistake", click.err)
			continue
		}
		papers[click.made.UUID+click.made.ID] = true
		require.Equal(t, 1, effects(b.server, c, testKey), "a document that the ledger does not have")
	}
	require.LessOrEqual(t, len(papers), 1, "the callers got different documents")
}

func TestCallersOfOneClientShareOneRequest(t *testing.T) {
	t.Parallel()
	for _, c := range everySandboxWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newSandbox(t)
				client := b.client(c.provider)
				prepare(t, c, client)
				b.server.Script(sandbox.Slow(3 * time.Second))

				got := clicks(8, func(int) (*result, error) { return c.do(t.Context(), client, testKey) })

				for _, click := range got {
					require.NoError(t, click.err)
					require.Equal(t, got[0].made, click.made)
				}
				require.Len(t, arrived(b.server, c, testKey), 1)
			})
		})
	}
}

func TestCancellationOfOneCallerDoesNotEndItForTheOthers(t *testing.T) {
	t.Parallel()
	for _, c := range everySandboxWrite(t) {
		for _, leaver := range []int{0, 1, 3} {
			t.Run(fmt.Sprint(c, " caller ", leaver), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newSandbox(t)
					client := b.client(c.provider)
					prepare(t, c, client)
					b.server.Script(sandbox.Slow(3 * time.Second))
					impatient, cancel := context.WithCancel(t.Context())
					defer cancel()
					time.AfterFunc(time.Second, cancel)
					var left time.Duration
					started := time.Now()
					results := make(chan click, 4)
					for i := range 4 {
						ctx := t.Context()
						if i == leaver {
							ctx = impatient
						}
						go func() {
							made, err := c.do(ctx, client, testKey)
							if i == leaver {
								left = time.Since(started)
							}
							results <- click{made, err}
						}()
						synctest.Wait() // the callers come one after the other
					}
					stayed := 0
					for range 4 {
						click := <-results
						if errors.Is(click.err, context.Canceled) {
							require.ErrorIs(t, click.err, unavez.ErrRetryLater)
							require.ErrorIs(t, click.err, unavez.ErrOutcomeUnknown, "a write was under way")
							continue
						}
						require.NoError(t, click.err)
						stayed++
					}
					require.Equal(t, 3, stayed, "the cancellation ended it for others")
					require.Equal(t, time.Second, left, "the caller who left was told at once")
					require.Len(t, arrived(b.server, c, testKey), 1)
				})
			})
		}
	}
}

func TestRecordHeldByAnotherProcessIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, c := range everySandboxWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, journal := newSandbox(t), unavez.NewMemoryJournal(0)
				first, second := b.client(c.provider, unavez.WithJournal(journal)), b.client(c.provider, unavez.WithJournal(journal))
				prepare(t, c, first)
				b.server.Script(sandbox.Slow(10 * time.Second))
				done := make(chan click, 1)
				go func() {
					made, err := c.do(t.Context(), first, testKey)
					done <- click{made, err}
				}()
				time.Sleep(time.Second)

				_, err := c.do(t.Context(), second, testKey)

				e := requireError(t, err)
				require.Equal(t, unavez.RetryLater, e.Disposition)
				require.Len(t, arrived(b.server, c, testKey), 1)
				earlier := <-done
				require.NoError(t, earlier.err)
				made, err := c.do(t.Context(), second, testKey)
				require.NoError(t, err)
				require.Equal(t, earlier.made.UUID, made.UUID)
				require.Len(t, arrived(b.server, c, testKey), 1)
			})
		})
	}
}

// stamping is a transport that writes into every request, as tracing does, and checks that key and body belong together.
type stampingTransport struct {
	next http.RoundTripper
	t    *testing.T
}

func (s *stampingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("Traceparent", fmt.Sprintf("00-%p", request))
	return s.next.RoundTrip(request)
}

func TestServicesOfOneClientShareNothingBetweenCalls(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newSandbox(t)
				client := newClient(t, provider, "http://127.0.0.1", &stampingTransport{b.transport, t})
				for range 40 {
					b.server.Script(sandbox.TooMany(""), sandbox.Pass(), sandbox.CutBody(3), sandbox.Refuse(), sandbox.HTML(503))
				}
				clicks(64, func(i int) (*result, error) {
					name := fmt.Sprintf("caller-number-%03d", i)
					return nil, callAny(t.Context(), client, provider, i, name)
				})
				for _, request := range b.server.Requests() {
					if request.Method != http.MethodPost || len(request.Body) == 0 {
						continue
					}
					key := keyOnWire(request.Header, request.Body)
					require.NotEmpty(t, key)
					require.Contains(t, string(request.Body), `"nota":"`+key+`"`, "a request with another one's key or body")
					require.Len(t, request.Header.Values("Idempotency-Key"), boolToInt(provider != atFacty))
				}
				for _, entry := range b.server.Ledger() {
					require.Equal(t, 1, b.server.Effects(entry.Key), entry.Key)
				}
			})
		})
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// callAny performs one of the writes that the provider has, with the key in the body as well.
func callAny(ctx context.Context, client *unavez.Client, provider string, i int, key string) error {
	extra, option := map[string]any{"nota": key}, unavez.WithIdempotencyKey(key)
	var err error
	switch {
	case provider == atPayouts:
		params := payoutParams()
		params.QuoteID, params.Extra = anotherUUID(key), extra
		_, err = client.Payouts.Create(ctx, params, option)
	case provider == atFacty && i%3 == 0:
		_, err = client.Retentions.Create(ctx, &unavez.RetentionParams{Extra: extra}, option)
	case provider != atFiscalisto && i%3 == 1:
		params := paymentParams(provider)
		params.Extra = extra
		_, err = client.Payments.Create(ctx, params, option)
	case provider == atIpsofactura && i%3 == 2:
		_, err = client.Invoices.StampXML(ctx, &unavez.StampXMLParams{XML: []byte("<c/>"), Extra: extra}, option)
	default:
		params := invoiceParams(provider)
		params.Extra = extra
		_, err = client.Invoices.Create(ctx, params, option)
	}
	return err
}

func TestNothingThatTheCallerGaveIsChanged(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atFacty, atIpsofactura, atFiscalisto} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newSandbox(t)
				given := &http.Client{Transport: b.transport, Timeout: time.Hour}
				before := *given
				client, err := unavez.New(newProvider(t, provider, "http://127.0.0.1"), unavez.WithHTTPClient(given))
				require.NoError(t, err)
				params := invoiceParams(provider)
				params.Extra = map[string]any{"nota": map[string]any{"a": []any{"x", json.Number("1.0")}}}
				printed := fmt.Sprintf("%#v", params)
				for range 32 {
					b.server.Script(sandbox.TooMany(""), sandbox.CutBody(3))
				}

				clicks(64, func(i int) (*result, error) { // all of them share one struct
					_, err := client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(fmt.Sprintf("caller-number-%03d", i)))
					return nil, err
				})

				require.Equal(t, printed, fmt.Sprintf("%#v", params))
				require.Equal(t, before, *given)
				require.True(t, strings.HasPrefix(b.server.Requests()[0].Header.Get("User-Agent"), "unavez"))
			})
		})
	}
}
