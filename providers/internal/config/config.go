// Package config holds what the providers' configurations have in common: what is checked of them, and how they
// are shown without their secret.
package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/unavez/unavez"
)

// CheckAPIKey reports a key that is missing or that cannot travel in a header. The error holds no byte of it.
func CheckAPIKey(apiKey string) error {
	if apiKey == "" {
		return errors.New("APIKey is empty")
	}
	for i := range len(apiKey) {
		if apiKey[i] <= ' ' || apiKey[i] > '~' {
			return fmt.Errorf("APIKey has a byte at position %d that is not a visible ASCII character", i)
		}
	}
	return nil
}

// Hosts are the documented addresses of a provider. An empty one is not documented.
type Hosts struct{ Production, Test string }

// Resolve returns the address that every path is relative to: baseURL if it is given, else the documented one of the
// environment. Nothing but a named environment chooses a host.
func (h Hosts) Resolve(baseURL string, environment unavez.Environment) (string, error) {
	if baseURL != "" {
		return strings.TrimRight(baseURL, "/"), nil
	}
	documented := ""
	switch environment {
	case unavez.Production:
		documented = h.Production
	case unavez.Test:
		documented = h.Test
	default:
		if h != (Hosts{}) {
			return "", errors.New("BaseURL is empty and no environment is named: give one of them (WithEnvironment)")
		}
	}
	if documented == "" {
		return "", errors.New("BaseURL is empty, and no address is documented for this environment")
	}
	return documented, nil
}

// Account names an account of a provider in the journal. name is an organisation, or what the caller calls the account; it
// may be empty.
func Account(environment unavez.Environment, baseURL, name string) string {
	parts := make([]string, 0, 3)
	for _, part := range [...]string{string(environment), shownURL(baseURL), name} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}
