package unavez_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/fiscalisto"
)

func TestNewRefusesABaseURLThatIsNotSafe(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ base, says string }{
		{"https://api.example/v2?x=1", "has a query"},
		{"https://api.example/?", "has a query"},
		{"https://api.example/#top", "has a fragment"},
		{"https://api.example#", "has a fragment"},
		{"https://user:secret@api.example", "has userinfo"},
		{"https://user@api.example", "has userinfo"},
		{"http://api.example", "plain http to a host that is not loopback"},
		{"http://10.0.0.1", "plain http to a host that is not loopback"},
		{"http://0.0.0.0", "plain http to a host that is not loopback"},
		{"http://localhost.example", "plain http to a host that is not loopback"},
		{"http://127.0.0.1.example", "plain http to a host that is not loopback"},
		{"ftp://api.example", "is neither https nor http"},
		{"api.example", "has no host"},
		{"//api.example", "is neither https nor http"},
		{"https://", "has no host"},
		{"https://:443", "has no host"},
		{"https:/api.example", "has no host"},
		{"https://api.example:port", "malformed"},
		{"https://api .example", "malformed"},
		{"https://[::1", "malformed"},
		{"\x00", "malformed"},
	} {
		client, err := unavez.New(fiscalisto.Provider{BaseURL: r.base, APIKey: propertySecret})
		require.ErrorContains(t, err, r.says, r.base)
		require.NotContains(t, err.Error(), "secret", r.base)
		require.Nil(t, client)
	}
}

func TestNewTakesHTTPSAndPlainHTTPToLoopback(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"https://api.example", "https://api.example:8443/base/", "HTTPS://api.example", "http://127.0.0.1:1", "http://127.9.9.9", "http://[::1]:80",
		"http://localhost", "http://LOCALHOST:9/x", "http://[::ffff:127.0.0.1]",
	} {
		_, err := unavez.New(fiscalisto.Provider{BaseURL: base, APIKey: propertySecret})
		require.NoError(t, err, base)
	}
}

func TestNewNeedsAnAddressOrAnEnvironment(t *testing.T) {
	t.Parallel()
	_, err := unavez.New(fiscalisto.Provider{APIKey: propertySecret})
	require.ErrorContains(t, err, "BaseURL is empty")
	_, err = unavez.New(fiscalisto.Provider{APIKey: propertySecret}, unavez.WithEnvironment(unavez.Test))
	require.NoError(t, err)
}

func TestNewNeedsAProvider(t *testing.T) {
	t.Parallel()
	_, err := unavez.New(nil)
	require.ErrorContains(t, err, "provider is nil")
}

// oddProvider describes itself as a test wants it.
type oddProvider struct {
	profile unavez.Profile
	err     error
}

func (p oddProvider) Profile(unavez.Environment) (unavez.Profile, error) { return p.profile, p.err }

func (oddProvider) Encode(*unavez.Operation) (unavez.Request, error) {
	return unavez.Request{}, errors.ErrUnsupported
}

func TestNewRefusesAProfileThatCannotKeepThePromises(t *testing.T) {
	t.Parallel()
	good := func() unavez.Profile {
		return unavez.Profile{
			Name: "own", BaseURL: "https://api.example", Key: unavez.KeyRule{Min: 1, Max: 64},
			Operations: map[unavez.OperationName]unavez.OperationRules{unavez.InvoiceCreate: {Ambiguity: unavez.AmbiguityResend, Retention: time.Hour}},
		}
	}
	_, err := unavez.New(oddProvider{profile: good()})
	require.NoError(t, err)
	for says, spoil := range map[string]func(*unavez.Profile){
		"name is empty":                   func(p *unavez.Profile) { p.Name = "" },
		"key rule has no usable limits":   func(p *unavez.Profile) { p.Key.Min = 0 },
		"key rule has no usable limits ":  func(p *unavez.Profile) { p.Key.Max = 33 },
		"key rule has no usable limits  ": func(p *unavez.Profile) { p.Key.Min, p.Key.Max = 65, 64 },
		"operations are empty":            func(p *unavez.Profile) { p.Operations = nil },
		"has no retention": func(p *unavez.Profile) {
			p.Operations[unavez.InvoiceCreate] = unavez.OperationRules{Ambiguity: unavez.AmbiguityResend}
		},
		"base url has no host":             func(p *unavez.Profile) { p.BaseURL = "" },
		"plain http to a host that is not": func(p *unavez.Profile) { p.BaseURL = "http://api.example" },
	} {
		profile := good()
		spoil(&profile)
		_, err := unavez.New(oddProvider{profile: profile})
		require.ErrorContains(t, err, string(bytes.TrimSpace([]byte(says))))
	}
	_, err = unavez.New(oddProvider{err: errors.New("no region")})
	require.ErrorContains(t, err, "no region")
}

func TestClientShowsNoSecret(t *testing.T) {
	t.Parallel()
	client, err := unavez.New(propertyProvider("facty"), unavez.WithEnvironment(unavez.Test))
	require.NoError(t, err)
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", slog.Any("client", client))
	asJSON, err := json.Marshal(client) //nolint:musttag // that it shows nothing is the fact
	require.NoError(t, err)
	for _, text := range []string{
		client.String(), fmt.Sprintf("%v %+v %#v %s %q %x", client, client, client, client, client, client), logged.String(), string(asJSON),
		fmt.Sprintf("%+v %#v", *client.Invoices, client.Payments),
	} {
		require.NotContains(t, text, propertySecret)
	}
	require.Equal(t, "unavez.Client(facty)", client.String())
}

func TestClientDoesNotChangeTheHTTPClientThatItIsGiven(t *testing.T) {
	t.Parallel()
	transport := &http.Transport{}
	given := &http.Client{Transport: transport, Timeout: time.Minute}
	_, err := unavez.New(propertyProvider("facty"), unavez.WithHTTPClient(given))
	require.NoError(t, err)
	require.Same(t, transport, given.Transport)
	require.Nil(t, given.CheckRedirect)
	require.Equal(t, time.Minute, given.Timeout)
}

func TestClientRecordIDNamesProviderAccountAndKey(t *testing.T) {
	t.Parallel()
	client, err := unavez.New(propertyProvider("facty"), unavez.WithEnvironment(unavez.Test))
	require.NoError(t, err)
	id := client.RecordID("some-key")
	require.Equal(t, "facty", id.Provider)
	require.Equal(t, "some-key", id.Key)
	require.Contains(t, id.Account, "acme")
	require.Contains(t, id.Account, "test")
	require.NotContains(t, id.Account, propertySecret)
}

func TestPrepareDoesNoIOAndGivesTheSameBytesEveryTime(t *testing.T) {
	t.Parallel()
	var bodies []string
	for range 2 {
		client := newUntouched(t, "facty")
		intent, err := client.Prepare(&unavez.Operation{Name: unavez.InvoiceCreate, Invoice: goodInvoice()}, unavez.WithDomainID("factura", "4471"))
		require.NoError(t, err)
		require.Equal(t, propertyKey, intent.Key)
		require.Equal(t, unavez.Fingerprint(intent.Operation, intent.Method, intent.Path, intent.Body), intent.Fingerprint)
		bodies = append(bodies, string(intent.Body))
	}
	require.Equal(t, bodies[0], bodies[1])
}

func TestSendRefusesAnIntentThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	client := newUntouched(t, "facty")
	intent, err := client.Prepare(&unavez.Operation{Name: unavez.InvoiceCreate, Invoice: goodInvoice()}, unavez.WithDomainID("factura", "4471"))
	require.NoError(t, err)
	for name, spoil := range map[string]func(*unavez.Intent){
		"other provider": func(i *unavez.Intent) { i.Provider = "payouts" },
		"other account":  func(i *unavez.Intent) { i.Account = "globex" },
		"other bytes":    func(i *unavez.Intent) { i.Body = append([]byte(" "), i.Body...) },
		"no bytes":       func(i *unavez.Intent) { i.Body = nil },
		"other path":     func(i *unavez.Intent) { i.Path += "x" },
	} {
		other := intent
		spoil(&other)
		_, err := client.Send(t.Context(), other)
		_ = requireRefusal(t, err)
		require.ErrorContains(t, err, "intent", name)
	}
}
