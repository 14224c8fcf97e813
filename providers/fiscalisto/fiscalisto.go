// Package fiscalisto speaks to Fiscalisto (https://fiscalisto.com), which stamps invoices.
//
// The idempotency key travels in a header, and Fiscalisto keeps the document of every key that stamped for ever. After a lost answer
// the same request under the same key is safe; 202 means that the PAC has not answered yet, and proves nothing.
//
// One path is documented, POST /v1/invoices. The other things that Fiscalisto stamps (substitutions, payment complements, credit notes, advances, payroll,
// withholding certificates, batches, quotes) have no documented path: [unavez.Client.Do] sends those that answer with a fiscal UUID, in Fiscalisto's own form.
package fiscalisto

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/config"
)

const (
	name = "fiscalisto"
	// One host serves test and production; the API key tells them apart.
	host = "https://api.fiscalisto.com"
	// What stamps takes keys of these lengths.
	shortestKey = 8
	longestKey  = 255
)

// Provider is the access of one account in one mode. It implements [unavez.Provider], and shows its APIKey to nobody: not under fmt,
// log/slog or JSON. (As with every type, fmt does not ask it when it is an unexported field of another struct.)
type Provider struct {
	// BaseURL is the address of the API, without the "/v1" of its paths. Empty means the documented host, if the client
	// names an environment. The API key decides whether the account is in test or in production.
	BaseURL string
	// APIKey is sent as a bearer token.
	APIKey string
	// Account tells accounts of one host apart where they share a journal. It is not sent. It may be empty, and must
	// then stay empty, as it is part of what the journal keeps.
	Account string
}

var _ unavez.Provider = Provider{}

// FromEnv reads FISCALISTO_API_KEY, the variable of the vendor's own clients.
func FromEnv() (Provider, error) {
	provider := Provider{APIKey: os.Getenv("FISCALISTO_API_KEY")}
	if provider.APIKey == "" {
		return Provider{}, errors.New("fiscalisto: FISCALISTO_API_KEY is empty")
	}
	return provider, nil
}

// Profile describes Fiscalisto for one environment. It implements [unavez.Provider].
func (p Provider) Profile(environment unavez.Environment) (unavez.Profile, error) {
	if err := config.CheckAPIKey(p.APIKey); err != nil {
		return unavez.Profile{}, fmt.Errorf("fiscalisto: %w", err)
	}
	baseURL, err := config.Hosts{Production: host, Test: host}.Resolve(p.BaseURL, environment)
	if err != nil {
		return unavez.Profile{}, fmt.Errorf("fiscalisto: %w", err)
	}
	return unavez.Profile{
		Name: name, Account: config.Account(environment, baseURL, p.Account), BaseURL: baseURL,
		Header: http.Header{"Authorization": {"Bearer " + p.APIKey}},
		Key:    unavez.KeyRule{Min: shortestKey, Max: longestKey, Header: "Idempotency-Key"}, ReplayedHeader: "Idempotent-Replayed",
		Operations: operations(), Rules: rules(),
		// Only error.code is documented; the other members are read if they are there.
		Envelope: unavez.Envelope{
			Code: []string{"error", "code"}, Message: []string{"error", "message"}, RequestID: []string{"error", "request_id"},
			RequestIDHeader: "X-Request-Id",
		},
		Document: unavez.Fields{
			ID: []string{"id"}, UUID: []string{"uuid"}, Status: []string{"status"}, Total: []string{"total"},
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
