package facty_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/internal/providertest"
)

const key = "mi-erp:prod:factura:4471"

func newProvider() facty.Provider { return facty.Provider{Org: "acme", APIKey: providertest.Secret} }

func TestProfile(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		provider    facty.Provider
		environment unavez.Environment
		baseURL     string
		account     string
	}{
		"production": {newProvider(), unavez.Production, "https://facty.mx/api", "prod https://facty.mx/api acme"},
		"test":       {newProvider(), unavez.Test, "https://preview.facty.mx/api", "test https://preview.facty.mx/api acme"},
		"own": {
			facty.Provider{BaseURL: "http://127.0.0.1:8080/api/", Org: "acme", APIKey: "k"},
			"",
			"http://127.0.0.1:8080/api", "http://127.0.0.1:8080/api acme",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			profile, err := row.provider.Profile(row.environment)
			require.NoError(t, err)
			require.Equal(t, "facty", profile.Name)
			require.Equal(t, row.baseURL, profile.BaseURL)
			require.Equal(t, row.account, profile.Account)
			require.Equal(t, http.Header{"X-Api-Key": {row.provider.APIKey}}, profile.Header)
			require.Equal(t, unavez.KeyRule{Min: 8, Max: 128}, profile.Key)
		})
	}
}

func TestProfileRefuses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		provider facty.Provider
		says     string
	}{
		"no environment":   {newProvider(), "BaseURL"},
		"no organisation":  {facty.Provider{BaseURL: "https://facty.mx/api", APIKey: "k"}, "Org"},
		"a step as org":    {facty.Provider{BaseURL: "https://facty.mx/api", Org: "..", APIKey: "k"}, "Org"},
		"a line break":     {facty.Provider{BaseURL: "https://facty.mx/api", Org: "a\nb", APIKey: "k"}, "Org"},
		"no key":           {facty.Provider{BaseURL: "https://facty.mx/api", Org: "acme"}, "APIKey"},
		"a key with space": {facty.Provider{BaseURL: "https://facty.mx/api", Org: "acme", APIKey: "fk_ evil"}, "APIKey"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := row.provider.Profile("")
			require.ErrorContains(t, err, row.says)
			require.NotContains(t, err.Error(), "evil")
		})
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	profile, err := newProvider().Profile(unavez.Test)
	require.NoError(t, err)
	require.Len(t, profile.Operations, 6)
	for name, rules := range profile.Operations {
		isInvoice := name == unavez.InvoiceCreate
		require.Equal(t, isInvoice, rules.EmptyProves, name)
		require.Equal(t, isInvoice, rules.FailedNext == unavez.NextFixSameKey, name)
		require.NotEqual(t, unavez.AmbiguityResend, rules.Ambiguity, name)
		require.NotEmpty(t, rules.Hint, name)
	}
	require.Equal(t, unavez.AmbiguityStop, profile.Operations[unavez.PaymentCancel].Ambiguity)
	require.Contains(t, profile.Operations[unavez.InvoiceCancel].Hint, "sat-status")
	require.Contains(t, profile.Operations[unavez.PaymentCancel].Hint, "sat-status")
	require.Equal(t, 24*time.Hour, profile.Operations[unavez.InvoiceCreate].Retention)
}

func TestFromEnv(t *testing.T) {
	for host, baseURL := range map[string]string{
		"":                         "",
		"https://facty.mx":         "https://facty.mx/api",
		"https://facty.mx/":        "https://facty.mx/api",
		"https://facty.mx/api":     "https://facty.mx/api",
		"https://facty.mx/api/":    "https://facty.mx/api",
		"http://localhost:3000":    "http://localhost:3000/api",
		"https://gw.test/facty/":   "https://gw.test/facty/api",
		"https://preview.facty.mx": "https://preview.facty.mx/api",
	} {
		t.Run(host, func(t *testing.T) {
			t.Setenv("FACTY_HOST", host)
			t.Setenv("FACTY_ORG", "acme")
			t.Setenv("FACTY_KEY", "fk_1")
			provider, err := facty.FromEnv()
			require.NoError(t, err)
			require.Equal(t, facty.Provider{BaseURL: baseURL, Org: "acme", APIKey: "fk_1"}, provider)
		})
	}
	for _, missing := range []string{"FACTY_ORG", "FACTY_KEY"} {
		t.Run("no "+missing, func(t *testing.T) {
			t.Setenv("FACTY_ORG", "acme")
			t.Setenv("FACTY_KEY", "fk_1")
			t.Setenv(missing, "")
			_, err := facty.FromEnv()
			require.ErrorContains(t, err, missing)
			require.NotContains(t, err.Error(), "fk_1")
		})
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	provider := newProvider()
	provider.BaseURL = "https://user:" + providertest.Secret + "@facty.test/api?key=" + providertest.Secret
	providertest.KeepsSecret(t, provider, "facty", "https://facty.test/api", "acme", "APIKey", "[redacted]")
	require.Contains(t, facty.Provider{}.String(), "[missing]")
}

func TestRules(t *testing.T) {
	t.Parallel()
	providertest.Rules(t, newProvider(), func(client *unavez.Client) error {
		_, err := client.Invoices.Create(context.Background(), newInvoice(), unavez.WithIdempotencyKey(key))
		return err
	})
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	providertest.Unsupported(t, newProvider(),
		&unavez.Operation{Name: unavez.InvoiceStampXML, StampXML: &unavez.StampXMLParams{}},
		&unavez.Operation{Name: unavez.PayoutCreate, Payout: &unavez.PayoutParams{}},
		&unavez.Operation{Name: "clients.create", Raw: &unavez.RawParams{Operation: "clients.create"}},
	)
}
