package unavez_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// plantedKey, plantedMessage and plantedAmount must never be seen in a text or a log.
const (
	plantedKey     = "planted-key:juan.perez@example.com"
	plantedMessage = "planted message about JUAN PEREZ"
	plantedAmount  = "98765.43"
)

// planted is all that must not be seen.
func planted() []string {
	return []string{
		testAPIKey, testName, testRFC, plantedKey, "juan.perez", plantedMessage, "JUAN PEREZ", plantedAmount, "planted", "65000", "idempotencyKey=",
		"Servicio planted",
	}
}

// lockedBuffer is a log that many goroutines write to.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func requireNothingPlanted(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range planted() {
		require.NotContains(t, text, secret, "%s shows what it must not", what)
	}
}

// talkativeAnswers are answers full of what must not be passed on.
func talkativeAnswers() map[string]reply {
	flat := `{"error":"` + plantedMessage + `","message":"` + plantedMessage + `","code":"` + plantedMessage + `","fieldErrors":{"items":"` + plantedMessage +
		`","` + testName + `":"x"},"receptor":{"rfc":"` + testRFC + `"},"total":` + plantedAmount + `}`
	nested := `{"error":{"code":"` + plantedMessage + `","message":"` + plantedMessage + `","request_id":"planted"},"customer":"` + testName + `"}`
	return map[string]reply{
		"flat": answer(0, flat, "X-Request-Id: planted"), "nested": answer(0, nested), "page": answer(0, "<html>"+plantedMessage+testRFC+"</html>"),
		"location":                 answer(0, "", "Location: https://elsewhere.example/"+testAPIKey+"?idempotencyKey="+plantedKey+"&planted=1"),
		"location with a password": answer(0, "", "Location: https://planted:"+testAPIKey+"@elsewhere.example/"),
		"status":                   answer(0, `{"id":"planted","status":"`+plantedMessage+`","data":{"cfdi":"`+testName+`"}}`),
	}
}

// secretParams performs the main write of a provider with planted data.
func secretCall(t *testing.T, provider string, client *unavez.Client) error {
	t.Helper()
	key := unavez.WithIdempotencyKey(plantedKey)
	if provider == atPayouts {
		params := payoutParams()
		params.Extra = map[string]any{"nota": plantedMessage, "monto": json.Number(plantedAmount)}
		_, err := client.Payouts.Create(t.Context(), params, key)
		return err
	}
	params := invoiceParams(provider)
	params.Items[0].Description, params.Items[0].UnitPrice = "Servicio planted", plantedAmount
	params.Extra = map[string]any{"nota": plantedMessage}
	_, err := client.Invoices.Create(t.Context(), params, key)
	return err
}

func TestNothingPersonalOrSecretIsInAnErrorOrALog(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for name, told := range talkativeAnswers() {
			for _, status := range []int{200, 201, 202, 302, 400, 401, 402, 403, 408, 409, 422, 429, 500, 503} {
				t.Run(fmt.Sprint(provider, " ", status, " ", name), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						var log lockedBuffer
						logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
						text := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
						b := newMock(t, provider, unavez.WithLogger(logger), unavez.WithMaxAttempts(2))
						told := told
						told.status = status
						b.play(told, told, told, told)

						err := secretCall(t, provider, b.client)
						text.Info("ended", slog.Any("err", err), slog.Any("client", b.client))
						logger.Info("ended", slog.Any("err", err), slog.Any("client", b.client))

						requireNothingPlanted(t, "the log", log.String())
						require.NotEmpty(t, log.String())
						if err == nil {
							return // a payout with an id, whose word is returned as it came
						}
						var e *unavez.Error
						require.ErrorAs(t, err, &e)
						requireNothingPlanted(t, "the error", err.Error())
						requireNothingPlanted(t, "the explanation", e.Explain())
						for _, verb := range []string{"%v", "%s", "%+v", "%q"} {
							requireNothingPlanted(t, verb, fmt.Sprintf(verb, err))
						}
					})
				})
			}
		}
	}
}

func TestTransportErrorShowsNoAddressWithAKeyInIt(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]reply{"no connection": noConnection(), "lost": lostAnswer(), "timeout": silence()} {
		for _, provider := range []string{atFacty, atIpsofactura} {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var log lockedBuffer
					b := newMock(t, provider, unavez.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
						unavez.WithMaxAttempts(2))
					b.play(lost, lost, lost, lost)

					_, err := b.client.Invoices.Reconcile(t.Context(), plantedKey,
						unavez.WithReference(unavez.InvoiceRef{Issuer: testRFC, Series: "planted", Folio: "planted"}))

					e := requireError(t, err)
					requireNothingPlanted(t, "the error", err.Error())
					requireNothingPlanted(t, "the explanation", e.Explain())
					requireNothingPlanted(t, "the log", log.String())
					for _, attempt := range e.Attempts {
						if attempt.Err != nil {
							requireNothingPlanted(t, "the attempt's error", attempt.Err.Error())
						}
					}
					for cause := error(e); cause != nil; cause = errors.Unwrap(cause) {
						requireNothingPlanted(t, "the cause", cause.Error())
					}
				})
			})
		}
	}
}

func TestClientAndProviderShowNoSecretUnderAnyVerb(t *testing.T) {
	t.Parallel()
	for _, name := range allProviders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider, client := newProvider(t, name, "https://api.example"), newMock(t, name).client
			for _, verb := range []string{"%v", "%s", "%+v", "%#v", "%q", "%x", "%d", "%T", "%10.3v"} {
				for what, value := range map[string]any{
					"client": client, "provider": provider, "list": []any{client, provider}, "map": map[string]any{"c": client, "p": provider},
					"services": []any{client.Invoices, client.Payments, client.Payouts, client.Retentions},
				} {
					text := fmt.Sprintf(verb, value)
					require.NotContains(t, text, testAPIKey, "%s of %s", verb, what)
					require.NotContains(t, text, fmt.Sprintf("%x", testAPIKey), "%s of %s", verb, what)
				}
			}
			for _, value := range []any{client, provider, map[string]any{"c": client, "p": provider}} {
				text, err := json.Marshal(value)
				if err == nil {
					require.NotContains(t, string(text), testAPIKey)
				}
				var log lockedBuffer
				slog.New(slog.NewTextHandler(&log, nil)).Info("x", slog.Any("v", value))
				slog.New(slog.NewJSONHandler(&log, nil)).Info("x", slog.Any("v", value))
				require.NotContains(t, log.String(), testAPIKey)
			}
		})
	}
}

func TestBadConfigurationIsNamedWithoutItsSecret(t *testing.T) {
	t.Parallel()
	for _, name := range allProviders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, base := range []string{
				"https://user:" + testAPIKey + "@api.example", "https://api.example?key=" + testAPIKey, "https://api.example#" + testAPIKey,
				"http://" + testAPIKey + ".example", "://" + testAPIKey, "https://[" + testAPIKey, "ftp://" + testAPIKey, testAPIKey, "https://%zz" + testAPIKey,
			} {
				_, err := unavez.New(newProvider(t, name, base), unavez.WithEnvironment(unavez.Test))
				require.Error(t, err, base)
				require.NotContains(t, err.Error(), testAPIKey, base)
			}
		})
	}
}

func TestAPIKeyTravelsOnlyInItsHeader(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			b := newMock(t, c.provider)
			b.play(answer(201, c.success))
			_, err := c.do(t.Context(), b.client, testKey)
			require.NoError(t, err)
			write := b.writes()[0]
			require.NotContains(t, write.Path, testAPIKey)
			require.NotContains(t, write.Body, testAPIKey)
			count := 0
			for _, values := range write.Header {
				count += strings.Count(strings.Join(values, " "), testAPIKey)
			}
			require.Equal(t, 1, count)
		})
	}
}

func TestObserverIsToldNoBodyAndNoSecret(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var seen []string
				b := newMock(t, c.provider, unavez.WithObserver(func(_ context.Context, event unavez.Event) {
					seen = append(seen, fmt.Sprintf("%+v", event))
					if event.Attempt != nil {
						seen = append(seen, fmt.Sprintf("%+v", *event.Attempt))
					}
				}))
				b.play(answer(http.StatusTooManyRequests, `{"error":"`+plantedMessage+`"}`), answer(201, c.success))
				_, _ = c.do(t.Context(), b.client, testKey)
				require.NotEmpty(t, seen)
				text := strings.Join(seen, "\n")
				for _, secret := range []string{testAPIKey, testName, testRFC, plantedMessage, "150.50", "formaPago", "forma_pago"} {
					require.NotContains(t, text, secret)
				}
			})
		})
	}
}
