package unavez_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// keyLimits are the shortest and the longest key of each provider.
func keyLimits() map[string][2]int {
	return map[string][2]int{atIpsofactura: {1, 100}, atFacty: {8, 128}, atPayouts: {1, 255}, atFiscalisto: {8, 255}}
}

// requireKeyRefused asks that nothing at all happened.
func requireKeyRefused(t *testing.T, b *mockBundle, key string, err error) {
	t.Helper()
	e := requireError(t, err)
	require.ErrorIs(t, err, unavez.ErrKeyInvalid, "key %q", key)
	require.Equal(t, unavez.Refused, e.Disposition)
	require.Equal(t, unavez.NotSent, e.Effect)
	require.Empty(t, b.all(), "something was sent for key %q", key)
	if len(key) > 3 {
		require.NotContains(t, err.Error(), key)
	}
}

func TestKeyOutsideItsProvidersLimitsIsRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	for provider, limits := range keyLimits() {
		for _, c := range writeCases(t, provider) {
			for length, isGood := range map[int]bool{
				0: false, limits[0] - 1: false, limits[0]: true, limits[0] + 1: true,
				limits[1] - 1: true, limits[1]: true, limits[1] + 1: false, 5000: false,
			} {
				t.Run(fmt.Sprint(c, " ", length), func(t *testing.T) {
					t.Parallel()
					b, key := newMock(t, provider), strings.Repeat("k", length)
					if isGood {
						b.play(answer(201, c.success))
					}

					_, err := c.do(t.Context(), b.client, key)

					if !isGood {
						requireKeyRefused(t, b, key, err)
						return
					}
					require.NoError(t, err)
					if c.carriesKey() {
						require.Equal(t, key, keyOnWire(b.writes()[0].Header, []byte(b.writes()[0].Body)))
					}
				})
			}
		}
	}
}

func TestByteThatNoKeyMayHoldIsRefusedInEveryPosition(t *testing.T) {
	t.Parallel()
	for provider := range keyLimits() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			const length = 9
			c := mainCase(t, provider)
			for position := range length {
				for value := range 256 {
					key := []byte(strings.Repeat("k", length))
					key[position] = byte(value)
					b := newMock(t, provider)
					isGood := value > ' ' && value <= '~'
					if isGood {
						b.play(answer(201, c.success))
					}

					_, err := c.do(t.Context(), b.client, string(key))

					if !isGood {
						requireKeyRefused(t, b, string(key), err)
						continue
					}
					require.NoError(t, err, "byte 0x%02x at %d", value, position)
					require.Equal(t, string(key), keyOnWire(b.writes()[0].Header, []byte(b.writes()[0].Body)), "the key on the wire is the one given")
				}
			}
		})
	}
}

func TestReconcileRefusesAKeyThatCouldNotHaveBeenSent(t *testing.T) {
	t.Parallel()
	for provider, limits := range keyLimits() {
		for _, key := range []string{"", " lead-and-trail ", "factura ñ 1", "tab\there-it-is", strings.Repeat("k", limits[1]+1)} {
			t.Run(provider+" "+key[:min(len(key), 20)], func(t *testing.T) {
				t.Parallel()
				b := newMock(t, provider)
				_, err := b.client.Reconcile(t.Context(), key)
				requireKeyRefused(t, b, key, err)
			})
		}
	}
}

func TestKeyInTheQueryOfALookupIsEscaped(t *testing.T) {
	t.Parallel()
	for value := '!'; value <= '~'; value++ {
		t.Run(string(value), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, key := newMock(t, atFacty), "key"+strings.Repeat(string(value), 3)+"&uuid=1"
				quoted, err := json.Marshal(key)
				require.NoError(t, err)
				b.play(answer(200, `{"invoices":[{"idempotencyKey":`+string(quoted)+`,"status":"stamped","uuid":"`+testUUID+`"}]}`))

				made, err := b.client.Invoices.Reconcile(t.Context(), key)

				require.NoError(t, err)
				require.Equal(t, key, made.IdempotencyKey)
				query, err := url.Parse(b.lookups()[0].Path)
				require.NoError(t, err)
				require.Equal(t, url.Values{"idempotencyKey": {key}}, query.Query(), "the query as the server reads it")
			})
		})
	}
}

func TestDerivedKeysAreInjectiveAndNeverTransliterated(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{
		{"factura", "4471"},
		{"factura:4471", "x"},
		{"factura", "4471:x"},
		{"factura", "Peña"},
		{"factura", "Pena"},
		{"factura", "Pen\u0303a"},
		{"factura", "a b"},
		{"factura", "a%20b"},
		{"factura", "a+b"},
		{"factura", "a%2520b"},
		{"factura", " a b"},
		{"factura", "a b "},
		{"a", "b:c"},
		{"a:b", "c"},
		{"a", "b%3Ac"},
		{"Factura", "4471"},
		{"factura", "\xf1"},
		{"factura", "ñ"},
		{"factura", "\u00f1\u0000"},
		{"factura", "~"},
		{"factura", "%7E"},
		{"factura", strings.Repeat("x", 300)},
		{"factura", strings.Repeat("x", 301)},
		{"factura", strings.Repeat("x", 300) + "y"},
		{"factura", strings.Repeat("ñ", 90)},
		{"factura", strings.Repeat("n", 90)},
	}
	for provider, limits := range keyLimits() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			client, seen := newMock(t, provider).client, map[string][2]string{}
			for _, pair := range pairs {
				key, err := client.DeriveKey(pair[0], pair[1])
				require.NoError(t, err)
				require.Empty(t, seen[key], "%q and %q share the key %s", pair, seen[key], key)
				seen[key] = pair
				require.LessOrEqual(t, len(key), limits[1])
				require.True(t, strings.HasPrefix(key, "mi-erp:test:"), "%s has lost its readable head", key)
				for i := range len(key) {
					require.True(t, key[i] > ' ' && key[i] <= '~', "%q", key)
				}
				if strings.Contains(key, "~") {
					require.Len(t, key, limits[1], "a key that is cut uses all the room there is")
				}
				again, err := client.DeriveKey(pair[0], pair[1])
				require.NoError(t, err)
				require.Equal(t, key, again, "the same record gives another key")
			}
		})
	}
}

func TestWriteWithoutAKeyIsRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			b := newMock(t, c.provider)
			_, err := c.call(t.Context(), b.client, nil)
			require.ErrorIs(t, err, unavez.ErrNoIdempotencyKey)
			require.ErrorIs(t, err, unavez.ErrRefused)
			for _, option := range []unavez.CallOption{
				unavez.WithDomainID("", "4471"), unavez.WithDomainID("factura", ""), unavez.WithIdempotencyKey(""),
			} {
				_, err = c.call(t.Context(), b.client, []unavez.CallOption{option})
				require.ErrorIs(t, err, unavez.ErrRefused)
			}
			require.Empty(t, b.all())
		})
	}
}
