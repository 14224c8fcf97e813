package unavez_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

func TestKeyRuleAcceptsItsLimitsAndNothingBeyond(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		provider string
		min, max int
	}{
		{"ipsofactura", 1, 100},
		{"facty", 8, 128},
		{"payouts", 1, 255},
		{"fiscalisto", 8, 255},
	} {
		profile, err := propertyProvider(r.provider).Profile(unavez.Test)
		require.NoError(t, err)
		require.Equal(t, r.min, profile.Key.Min, r.provider)
		require.Equal(t, r.max, profile.Key.Max, r.provider)
		for length, isGood := range map[int]bool{
			0: false, r.min - 1: false, r.min: true, r.min + 1: true, r.max - 1: true, r.max: true, r.max + 1: false, 5000: false,
		} {
			err := profile.Key.Check(strings.Repeat("k", length))
			require.Equal(t, isGood, err == nil, "%s, %d characters: %v", r.provider, length, err)
		}
	}
}

func TestKeyRuleAcceptsPrintableASCIIWithoutASpace(t *testing.T) {
	t.Parallel()
	rule := unavez.KeyRule{Min: 1, Max: 10}
	for c := range 256 {
		err := rule.Check("a" + string([]byte{byte(c)}) + "b")
		require.Equal(t, c > ' ' && c <= '~', err == nil, "byte 0x%02x: %v", c, err)
	}
}

func TestKeyRuleTellsTheRuleAndNotTheKey(t *testing.T) {
	t.Parallel()
	rule := unavez.KeyRule{Min: 8, Max: 128}
	require.EqualError(t, rule.Check("secret"), "has 6 characters, expected 8 to 128 printable ASCII characters without a space")
	require.EqualError(t, rule.Check("se cret-8"), "has byte 0x20 at position 2, expected 8 to 128 printable ASCII characters without a space")
}

func TestDeriveKeyOfTheExample(t *testing.T) {
	t.Parallel()
	for environment, want := range map[unavez.Environment]string{
		unavez.Production: "mi-erp:prod:factura:4471", unavez.Test: "mi-erp:test:factura:4471",
	} {
		key, err := newKeyClient(t, unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(environment)).DeriveKey("factura", "4471")
		require.NoError(t, err)
		require.Equal(t, want, key)
	}
}

func TestDeriveKeyEscapesWhatDoesNotStandForItself(t *testing.T) {
	t.Parallel()
	client := newKeyClient(t, unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test))
	for id, want := range map[string]string{
		"aZ09._-/": "aZ09._-/", "a:b": "a%3Ab", "a b": "a%20b", "a%b": "a%25b", "a~b": "a%7Eb", "Peña": "Pe%C3%B1a", "\xff\x00": "%FF%00",
	} {
		key, err := client.DeriveKey("factura", id)
		require.NoError(t, err)
		require.Equal(t, "mi-erp:test:factura:"+want, key)
	}
}

func TestDeriveKeyShortensWhatIsTooLongAndKeepsItApart(t *testing.T) {
	t.Parallel()
	client := newKeyClient(t, unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test)) // at most 100 characters
	const head = "mi-erp:test:factura:"
	exact, err := client.DeriveKey("factura", strings.Repeat("9", 80))
	require.NoError(t, err)
	require.Equal(t, head+strings.Repeat("9", 80), exact, "a key of 100 characters stays as it is")

	one, err := client.DeriveKey("factura", strings.Repeat("9", 80)+"1")
	require.NoError(t, err)
	two, err := client.DeriveKey("factura", strings.Repeat("9", 80)+"2")
	require.NoError(t, err)
	require.Len(t, one, 100)
	require.Regexp(t, "^"+head+"9{47}~[0-9a-f]{32}$", one)
	require.NotEqual(t, one, two)
}

func TestDeriveKeyRefusesAnEmptyPartByName(t *testing.T) {
	t.Parallel()
	full := []unavez.ClientOption{unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test)}
	for _, r := range []struct {
		options  []unavez.ClientOption
		kind, id string
		named    string
	}{
		{full, "", "1", "kind is empty"},
		{full, "factura", "", "id is empty"},
		{full[:1], "factura", "1", "environment is empty"},
		{full[1:], "factura", "1", "namespace is empty"},
	} {
		key, err := newKeyClient(t, r.options...).DeriveKey(r.kind, r.id)
		require.ErrorContains(t, err, r.named)
		require.Empty(t, key)
	}
}

func newKeyClient(t *testing.T, options ...unavez.ClientOption) *unavez.Client {
	t.Helper()
	client, err := unavez.New(propertyProvider("ipsofactura"), options...)
	require.NoError(t, err)
	return client
}
