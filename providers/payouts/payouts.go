// Package payouts speaks to an API that pays money out. Its page names neither the vendor nor an address.
//
// The idempotency key travels in a header and lives for 24 hours; it is compared with the method, the path and the exact bytes of the body. After a
// lost answer the same request under the same key is safe. A second guard is the quote: it is good for one payout, under
// whatever key. There is no lookup, and a payout whose status is "unknown" is never sent again.
package payouts

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/config"
)

const (
	name = "payouts"
	// No limits are documented; these are the SDK's.
	shortestKey = 1
	longestKey  = 255
	// inFlightFor is how long a request that was cut keeps its key, about.
	inFlightFor = 60 * time.Second
)

// Provider is the access of one program. It implements [unavez.Provider], and shows its APIKey to nobody: not under fmt, log/slog or
// JSON. (As with every type, fmt does not ask it when it is an unexported field of another struct.)
type Provider struct {
	// BaseURL is the address of the API, without the "/v1" of its path. It is always required, as no host is documented.
	BaseURL string
	// APIKey is sent in the header x-api-key.
	APIKey string
	// Account tells programs of one host apart where they share a journal. It is not sent. It may be empty, and must
	// then stay empty, as it is part of what the journal keeps.
	Account string
}

var _ unavez.Provider = Provider{}

// Profile describes the API for one environment. It implements [unavez.Provider].
func (p Provider) Profile(environment unavez.Environment) (unavez.Profile, error) {
	if err := config.CheckAPIKey(p.APIKey); err != nil {
		return unavez.Profile{}, fmt.Errorf("payouts: %w", err)
	}
	baseURL, err := config.Hosts{}.Resolve(p.BaseURL, environment)
	if err != nil {
		return unavez.Profile{}, fmt.Errorf("payouts: %w", err)
	}
	return unavez.Profile{
		Name: name, Account: config.Account(environment, baseURL, p.Account), BaseURL: baseURL,
		Header:     http.Header{"X-Api-Key": {p.APIKey}},
		Key:        unavez.KeyRule{Min: shortestKey, Max: longestKey, Header: "Idempotency-Key"},
		Operations: operations(), Rules: rules(), InFlightFor: inFlightFor,
		Envelope: unavez.Envelope{
			Code: []string{"error", "code"}, Message: []string{"error", "message"}, RequestID: []string{"error", "request_id"},
		},
		Document: unavez.Fields{ID: []string{"id"}, Status: []string{"status"}},
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
