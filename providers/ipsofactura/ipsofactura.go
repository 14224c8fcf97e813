// Package ipsofactura speaks to Ipsofactura (https://developers.ipsofactura.com), which stamps invoices from JSON or XML and payment
// complements, and cancels.
//
// The idempotency key travels in a header and lives for 96 hours. After a lost answer the same request under the same key is
// safe. One answer stands apart: 503 STAMPING_OUTCOME_UNKNOWN means that the document may exist at SAT, and then neither another key nor
// another folio may ever be tried.
//
// Its page on recovery shows little of the bodies. What is not shown takes the snake_case of SAT's own names, which is inferred; Extra adds
// members, Raw replaces the whole body.
package ipsofactura

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/config"
)

const (
	name = "ipsofactura"
	// The address of the test system is not documented.
	productionURL = "https://api.ipsofactura.com"
	// The longest key is documented, as are its letters: printable ASCII without a space.
	longestKey = 100
)

// Provider is the access of one account. It implements [unavez.Provider] and [unavez.Finder], and shows its APIKey to nobody: not
// under fmt, log/slog or JSON. (As with every type, fmt does not ask it when it is an unexported field of another struct.)
type Provider struct {
	// BaseURL is the address of the API. Empty means the documented host in Production; the test host is not documented, so
	// there it must be given.
	BaseURL string
	// APIKey is sent in the header x-api.
	APIKey string
	// Account tells accounts of one host apart where they share a journal. It is not sent. It may be empty, and must
	// then stay empty, as it is part of what the journal keeps.
	Account string
}

var _ unavez.Finder = Provider{}

// Profile describes Ipsofactura for one environment. It implements [unavez.Provider].
func (p Provider) Profile(environment unavez.Environment) (unavez.Profile, error) {
	if err := config.CheckAPIKey(p.APIKey); err != nil {
		return unavez.Profile{}, fmt.Errorf("ipsofactura: %w", err)
	}
	baseURL, err := config.Hosts{Production: productionURL}.Resolve(p.BaseURL, environment)
	if err != nil {
		return unavez.Profile{}, fmt.Errorf("ipsofactura: %w", err)
	}
	return unavez.Profile{
		Name: name, Account: config.Account(environment, baseURL, p.Account), BaseURL: baseURL,
		Header: http.Header{"X-Api": {p.APIKey}},
		Key:    unavez.KeyRule{Min: 1, Max: longestKey, Header: "Idempotency-Key"}, ReplayedHeader: "Idempotency-Replayed",
		Operations: operations(), Rules: rules(),
		Envelope: unavez.Envelope{Code: []string{"code"}, Message: []string{"message"}, RetryAfter: []string{"retry_after"}},
		Document: unavez.Fields{
			ID: []string{"id"}, UUID: []string{"folio_fiscal", "uuid"},
			// No status word and no name for one is documented; these two are read so that a word is never overlooked.
			Status: []string{"status", "estatus"}, Series: []string{"serie"}, Folio: []string{"folio"}, Total: []string{"total"},
			Currency: []string{"moneda"}, StampedAt: []string{"fecha_timbrado"}, Key: []string{"idempotency_key"},
		},
	}, nil
}

func (p Provider) shown() config.Shown {
	return config.Shown{Name: name, BaseURL: p.BaseURL, Account: p.Account, HasAPIKey: p.APIKey != ""}
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
