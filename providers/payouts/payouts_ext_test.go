package payouts_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/providertest"
	"github.com/unavez/unavez/providers/payouts"
)

const key = "mi-erp:prod:pago:2026-0001"

func newProvider() payouts.Provider {
	return payouts.Provider{BaseURL: "https://pay.test/api/", APIKey: providertest.Secret}
}

func newParams() *unavez.PayoutParams {
	return &unavez.PayoutParams{
		QuoteID: "11111111-2222-4333-8444-555555555555", Method: "pago_movil", BeneficiaryID: "66666666-7777-4888-9999-000000000000",
	}
}

func encode(params *unavez.PayoutParams) ([]byte, error) {
	request, err := newProvider().Encode(&unavez.Operation{Name: unavez.PayoutCreate, Key: key, Payout: params})
	return request.Body, err
}

func TestProfile(t *testing.T) {
	t.Parallel()
	profile, err := newProvider().Profile(unavez.Production)
	require.NoError(t, err)
	require.Equal(t, "payouts", profile.Name)
	require.Equal(t, "prod https://pay.test/api", profile.Account)
	require.Equal(t, "https://pay.test/api", profile.BaseURL)
	require.Equal(t, http.Header{"X-Api-Key": {providertest.Secret}}, profile.Header)
	require.Equal(t, unavez.KeyRule{Min: 1, Max: 255, Header: "Idempotency-Key"}, profile.Key)
	require.Equal(t, time.Minute, profile.InFlightFor)
	require.Equal(t, 24*time.Hour, profile.Operations[unavez.PayoutCreate].Retention)
	require.Equal(t, unavez.AmbiguityResend, profile.Operations[unavez.PayoutCreate].Ambiguity)

	provider := newProvider()
	provider.Account = "program-2"
	profile, err = provider.Profile("")
	require.NoError(t, err)
	require.Equal(t, "https://pay.test/api program-2", profile.Account)
}

func TestProfileRefuses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		provider    payouts.Provider
		environment unavez.Environment
		says        string
	}{
		"no base url in production": {payouts.Provider{APIKey: "k"}, unavez.Production, "BaseURL"},
		"no base url in test":       {payouts.Provider{APIKey: "k"}, unavez.Test, "BaseURL"},
		"no base url":               {payouts.Provider{APIKey: "k"}, "", "BaseURL"},
		"no key":                    {payouts.Provider{BaseURL: "https://pay.test"}, unavez.Test, "APIKey"},
		"a key with a line break":   {payouts.Provider{BaseURL: "https://pay.test", APIKey: "k\r\nX-Evil: 1"}, unavez.Test, "APIKey"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := row.provider.Profile(row.environment)
			require.ErrorContains(t, err, row.says)
			require.NotContains(t, err.Error(), "Evil")
		})
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		params *unavez.PayoutParams
		body   string
	}{
		"typed": {
			newParams(),
			`{"quoteId":"11111111-2222-4333-8444-555555555555","method":"pago_movil","beneficiaryId":"66666666-7777-4888-9999-000000000000"}`,
		},
		"extra": {
			&unavez.PayoutParams{QuoteID: "q", Extra: map[string]any{"note": "n", "method": "spei", "beneficiaryId": "b"}},
			`{"quoteId":"q","beneficiaryId":"b","method":"spei","note":"n"}`,
		},
		"raw": {
			&unavez.PayoutParams{Raw: json.RawMessage("{ \"quoteId\" : \"q\",\n\"b\":1}")},
			"{ \"quoteId\" : \"q\",\n\"b\":1}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := newProvider().Encode(&unavez.Operation{Name: unavez.PayoutCreate, Key: key, Payout: row.params})
			require.NoError(t, err)
			require.Equal(t, row.body, string(request.Body))
			require.Equal(t, http.MethodPost, request.Method)
			require.Equal(t, "/v1/payouts", request.Path)
			require.Equal(t, unavez.ProofIDAndStatus, request.Proof)
			require.False(t, request.RetriesFailed)
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	type row = providertest.Refusal[unavez.PayoutParams]
	providertest.Refusals(t, newParams, encode, []row{
		{"QuoteID", func(p *unavez.PayoutParams) { p.QuoteID = "" }},
		{"Method", func(p *unavez.PayoutParams) { p.Method = "" }},
		{"BeneficiaryID", func(p *unavez.PayoutParams) { p.BeneficiaryID = "" }},
		{"QuoteID", func(p *unavez.PayoutParams) { p.Raw = json.RawMessage(`{}`) }},
		{"Extra", func(p *unavez.PayoutParams) {
			*p = unavez.PayoutParams{Raw: json.RawMessage(`{}`), Extra: map[string]any{"a": providertest.Private}}
		}},
		{"Extra", func(p *unavez.PayoutParams) { p.Extra = map[string]any{"quoteId": providertest.Private} }},
		{"Raw", func(p *unavez.PayoutParams) { *p = unavez.PayoutParams{Raw: json.RawMessage(`[]`)} }},
	})
}

func TestEveryField(t *testing.T) {
	t.Parallel()
	providertest.EveryField(t, newParams, encode)
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	providertest.Unsupported(t, newProvider(),
		&unavez.Operation{Name: unavez.InvoiceCreate, Invoice: &unavez.InvoiceParams{}},
		&unavez.Operation{Name: unavez.InvoiceStampXML, StampXML: &unavez.StampXMLParams{}},
		&unavez.Operation{Name: unavez.InvoiceCancel, Cancel: &unavez.CancelParams{}},
		&unavez.Operation{Name: unavez.PaymentCreate, Payment: &unavez.PaymentParams{}},
		&unavez.Operation{Name: unavez.PaymentStamp, PaymentID: "p"},
		&unavez.Operation{Name: unavez.PaymentCancel, Cancel: &unavez.CancelParams{}},
		&unavez.Operation{Name: unavez.RetentionCreate, Retention: &unavez.RetentionParams{}},
		&unavez.Operation{Name: "quotes.create", Raw: &unavez.RawParams{Operation: "quotes.create"}},
	)
}

func TestRules(t *testing.T) {
	t.Parallel()
	providertest.Rules(t, newProvider(), func(client *unavez.Client) error {
		_, err := client.Payouts.Create(context.Background(), newParams(), unavez.WithIdempotencyKey(key))
		return err
	})
}

func TestSecret(t *testing.T) {
	t.Parallel()
	provider := payouts.Provider{BaseURL: "https://user:" + providertest.Secret + "@pay.test/v9?k=" + providertest.Secret, APIKey: providertest.Secret}
	provider.Account = "program-2"
	providertest.KeepsSecret(t, provider, "payouts", "https://pay.test/v9", "program-2", "APIKey", "[redacted]")
}
