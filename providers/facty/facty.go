// Package facty speaks to Facty (https://facty.mx), which stamps invoices, payment complements and withholding certificates.
//
// The idempotency key travels in the body. What sets Facty apart is its rule for an answer that never came: nothing is sent
// again before the provider was asked what became of the key, and a document that its record calls failed is only tried again
// when a person says so ([unavez.InvoiceParams].AllowRetryOnFailed).
package facty

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/config"
	"github.com/unavez/unavez/providers/internal/encode"
)

const (
	name = "facty"
	// The two hosts are different systems: another organisation, another database and another API key.
	productionURL = "https://facty.mx/api"
	testURL       = "https://preview.facty.mx/api"
)

// Facty documents the shortest and the longest key. The letters are the SDK's rule.
const (
	shortestKey = 8
	longestKey  = 128
)

// Provider is the access of one organisation. It implements [unavez.Provider] and [unavez.Finder], and shows its APIKey to nobody:
// not under fmt, log/slog or JSON. (As with every type, fmt does not ask it when it is an unexported field of another struct.)
type Provider struct {
	// BaseURL is the address with "/api" at its end. Empty means the documented host of the client's environment.
	BaseURL string
	// Org is the organisation's slug, a part of every path.
	Org string
	// APIKey is the key of that organisation, sent in the header X-API-Key.
	APIKey string
}

var _ unavez.Finder = Provider{}

// FromEnv reads the variables of Facty's own examples: FACTY_HOST (scheme and host, with or without "/api"; empty leaves the
// choice to the client's environment), FACTY_ORG and FACTY_KEY. The error names the missing variable.
func FromEnv() (Provider, error) {
	provider := Provider{Org: os.Getenv("FACTY_ORG"), APIKey: os.Getenv("FACTY_KEY")}
	switch {
	case provider.Org == "":
		return Provider{}, errors.New("facty: FACTY_ORG is empty")
	case provider.APIKey == "":
		return Provider{}, errors.New("facty: FACTY_KEY is empty")
	}
	if host := strings.TrimRight(os.Getenv("FACTY_HOST"), "/"); host != "" {
		provider.BaseURL = strings.TrimSuffix(host, "/api") + "/api"
	}
	return provider, nil
}

// Profile describes Facty for one environment. It implements [unavez.Provider].
func (p Provider) Profile(environment unavez.Environment) (unavez.Profile, error) {
	check := encode.Check{}
	check.Element("Org", p.Org)
	if err := cmp.Or(check.Err(), config.CheckAPIKey(p.APIKey)); err != nil {
		return unavez.Profile{}, fmt.Errorf("facty: %w", err)
	}
	baseURL, err := config.Hosts{Production: productionURL, Test: testURL}.Resolve(p.BaseURL, environment)
	if err != nil {
		return unavez.Profile{}, fmt.Errorf("facty: %w", err)
	}
	return unavez.Profile{
		Name: name, Account: config.Account(environment, baseURL, p.Org), BaseURL: baseURL,
		Header:     http.Header{"X-Api-Key": {p.APIKey}},
		Key:        unavez.KeyRule{Min: shortestKey, Max: longestKey},
		Operations: operations(), Rules: rules(),
		Envelope: unavez.Envelope{
			Code: []string{"code"}, Message: []string{"error"}, RequestID: []string{"requestId"},
			FieldErrors: []string{"fieldErrors"}, RequestIDHeader: "X-Request-Id",
		},
		Document: unavez.Fields{
			ID: []string{"id", "paymentInvoiceId"}, PaymentID: []string{"paymentId"}, UUID: []string{"uuid"},
			// estado is SAT's word in the answer of sat-status.
			Status: []string{"status", "estado"}, Series: []string{"serie"}, Folio: []string{"folio"},
			Total: []string{"total"}, Currency: []string{"moneda"}, StampedAt: []string{"stampedAt"}, Key: []string{"idempotencyKey"},
		},
	}, nil
}

func (p Provider) shown() config.Shown {
	return config.Shown{Name: name, BaseURL: p.BaseURL, Org: p.Org, HasAPIKey: p.APIKey != ""}
}

// String shows the configuration without its secret.
func (p Provider) String() string { return p.shown().String() }

// GoString shows the configuration without its secret.
func (p Provider) GoString() string { return p.shown().String() }

// Format shows the configuration without its secret, under every verb.
func (p Provider) Format(state fmt.State, _ rune) { p.shown().Print(state) }

// LogValue shows the configuration without its secret.
func (p Provider) LogValue() slog.Value { return p.shown().LogValue() }

// MarshalJSON shows the configuration without its secret.
func (p Provider) MarshalJSON() ([]byte, error) { return p.shown().MarshalJSON() }

// MarshalText shows the configuration without its secret, for the encodings that ask for a text.
func (p Provider) MarshalText() ([]byte, error) { return []byte(p.shown().String()), nil }
