package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/config"
)

func TestCheckAPIKeyTakesVisibleASCIIOnly(t *testing.T) {
	t.Parallel()
	require.Error(t, config.CheckAPIKey(""))
	for b := range 256 {
		key := "k" + string([]byte{byte(b)}) + "k"
		err := config.CheckAPIKey(key)
		if b > ' ' && b <= '~' {
			require.NoError(t, err, "byte 0x%02x", b)
			continue
		}
		require.ErrorContains(t, err, "position 1", "byte 0x%02x", b)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	both, one := config.Hosts{Production: "https://p.test", Test: "https://t.test"}, config.Hosts{Production: "https://p.test"}
	for name, row := range map[string]struct {
		hosts       config.Hosts
		given       string
		environment unavez.Environment
		want        string
	}{
		"given wins":                    {both, "https://own.test/", unavez.Production, "https://own.test"},
		"given needs no environment":    {both, "https://own.test//", "", "https://own.test"},
		"production":                    {both, "", unavez.Production, "https://p.test"},
		"test":                          {both, "", unavez.Test, "https://t.test"},
		"no environment":                {both, "", "", ""},
		"test is not production":        {one, "", unavez.Test, ""},
		"an environment without a host": {both, "", "staging", ""},
		"no host at all":                {config.Hosts{}, "", unavez.Production, ""},
		"nothing at all":                {config.Hosts{}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := row.hosts.Resolve(row.given, row.environment)
			require.Equal(t, row.want, got)
			if row.want == "" {
				require.ErrorContains(t, err, "BaseURL")
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestAccountHoldsNoSecret(t *testing.T) {
	t.Parallel()
	require.Equal(t, "prod https://h.test/api acme", config.Account(unavez.Production, "https://u:p@h.test/api?k=v#f", "acme"))
	require.Equal(t, "https://h.test", config.Account("", "https://h.test", ""))
	require.Equal(t, "test [malformed]", config.Account(unavez.Test, "sk_secret:key", ""))
	require.Equal(t, "test [malformed]", config.Account(unavez.Test, "https://h.test/%zz", ""))
}

func TestShownTellsAMissingKey(t *testing.T) {
	t.Parallel()
	require.Equal(t, `x.Provider{BaseURL:"", APIKey:"[missing]"}`, config.Shown{Name: "x"}.String())
	require.Equal(t, `x.Provider{BaseURL:"https://h.test", Org:"o", Account:"a", APIKey:"[redacted]"}`,
		config.Shown{Name: "x", BaseURL: "https://h.test", Org: "o", Account: "a", HasAPIKey: true}.String())
}
