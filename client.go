package unavez

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const defaultUserAgent = "unavez-go"

// Client performs the operations of one account of one provider. Create it with [New] and share it: it is safe for
// concurrent use, and callers with one key become one request.
type Client struct {
	*binding

	// Invoices, Payments, Retentions and Payouts are the services. One that the provider lacks answers an error
	// that matches [errors.ErrUnsupported].
	Invoices   *Invoices
	Payments   *Payments
	Retentions *Retentions
	Payouts    *Payouts

	rules []Rule // the provider's, then the common ones
	// operations always holds RawOperation, for which a provider without it has no rule: nothing is sent again.
	operations map[OperationName]*OperationRules

	config  clientConfig
	http    *http.Client
	retry   *retryablehttp.Client
	flights flights
	owner   string
}

// binding is behind a pointer, so that no verb of fmt reaches the credentials, not even through a copy of the client.
type binding struct {
	provider Provider
	profile  Profile
}

// New returns a client for the provider's account. The error names the option or the field of the provider that is missing or wrong:
// without a BaseURL and without [WithEnvironment] there is no address, and an address must be https
// (http only to a loopback host) without userinfo, query and fragment.
func New(provider Provider, options ...ClientOption) (*Client, error) {
	if isNil(provider) {
		return nil, errors.New("unavez: provider is nil")
	}
	config := clientConfig{
		userAgent: defaultUserAgent,
		attempts:  attemptConfig{timeout: defaultTimeout, maxAttempts: defaultMaxAttempts, maxWait: defaultMaxWait},
	}
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("unavez: client option %d is nil", i)
		}
		if err := option.applyToClient(&config); err != nil {
			return nil, fmt.Errorf("unavez: client option %d: %w", i, err)
		}
	}
	profile, err := provider.Profile(config.environment)
	if err != nil {
		return nil, fmt.Errorf("unavez: provider: %w", err)
	}
	if err := profile.validate(); err != nil {
		return nil, fmt.Errorf("unavez: provider %s: %w", profile.Name, err)
	}
	return newClient(provider, profile, config), nil
}

// isNil sees through an interface that holds a nil pointer.
func isNil(provider Provider) bool {
	value := reflect.ValueOf(provider)
	return !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil()
}

func newClient(provider Provider, profile Profile, config clientConfig) *Client {
	if config.journal == nil {
		config.journal = NewMemoryJournal(0)
	}
	profile.BaseURL = strings.TrimRight(profile.BaseURL, "/")
	c := &Client{binding: &binding{provider, profile}, config: config, owner: rand.Text()}
	c.rules = append(append([]Rule(nil), profile.Rules...), commonRules()...)
	c.operations = map[OperationName]*OperationRules{RawOperation: {}}
	for name, rules := range profile.Operations {
		c.operations[name] = &rules
	}
	c.http = newHTTPClient(config.httpClient)
	c.retry = &retryablehttp.Client{
		HTTPClient: c.http, RetryMax: math.MaxInt32, CheckRetry: checkRetry, PrepareRetry: prepareRetry,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	c.Invoices, c.Payments = &Invoices{c}, &Payments{c}
	c.Retentions, c.Payouts = &Retentions{c}, &Payouts{c}
	return c
}

// newHTTPClient copies what the caller gave, and neither follows redirects nor lets anything above the attempt touch the pool.
func newHTTPClient(given *http.Client) *http.Client {
	var own http.Client
	if given != nil {
		own = *given
	}
	if own.Transport == nil {
		own.Transport = newTransport()
	}
	own.Transport = newAttempter(own.Transport)
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		MaxIdleConns: 100, MaxIdleConnsPerHost: 32, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
	}
}

// validate refuses a profile with which the promises of this package could not be kept.
func (p *Profile) validate() error {
	switch {
	case p.Name == "":
		return errors.New("name is empty")
	case p.Key.Min < 1 || p.Key.Max < p.Key.Min || p.Key.Max <= derivedHashLength+1:
		return errors.New("key rule has no usable limits")
	case len(p.Operations) == 0:
		return errors.New("operations are empty")
	}
	for name, rules := range p.Operations {
		if rules.Retention <= windowMargin && rules.Ambiguity != AmbiguityStop {
			return fmt.Errorf("operation %s has no retention, expected how long the provider remembers a key", name)
		}
	}
	return checkBaseURL(p.BaseURL)
}

func checkBaseURL(base string) error {
	parsed, err := url.Parse(base)
	if err != nil {
		return errors.New("base url is malformed")
	}
	switch {
	case parsed.Host == "" || parsed.Hostname() == "":
		return errors.New("base url has no host, expected https://host/path")
	case parsed.User != nil:
		return errors.New("base url has userinfo, expected credentials in the provider's own field")
	case parsed.RawQuery != "" || parsed.ForceQuery:
		return errors.New("base url has a query")
	case strings.ContainsRune(base, '#'):
		return errors.New("base url has a fragment")
	case parsed.Scheme == "https":
		return nil
	case parsed.Scheme != "http":
		return errors.New("base url is neither https nor http")
	case !isLoopback(parsed.Hostname()):
		return errors.New("base url is plain http to a host that is not loopback, expected https")
	}
	return nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// DeriveKey returns the key that [WithDomainID] stands for: namespace, environment, kind and id, joined by ":". Letters, digits
// and . _ - / stand for themselves and every other byte is percent-encoded, so that two different records never
// share a key. A key longer than the provider takes keeps its head and ends in "~" and a hash of the whole. An empty part,
// or a client without [WithNamespace] and [WithEnvironment], is an error.
func (c *Client) DeriveKey(kind, id string) (string, error) {
	key, err := c.deriveKey(kind, id, c.profile.Key.Max)
	if err != nil {
		return "", fmt.Errorf("unavez: derive key: %w", err)
	}
	return key, nil
}

func (c *Client) deriveKey(kind, id string, limit int) (string, error) {
	return deriveKey(c.config.namespace, c.config.environment, kind, id, limit)
}

// RecordID returns the id under which the client's journal keeps the key.
func (c *Client) RecordID(key string) RecordID {
	return RecordID{Provider: c.profile.Name, Account: c.account(), Key: key}
}

func (c *Client) account() string { return c.profile.Account }

// newHeader builds the headers of one operation; every attempt shares them and none changes them.
func (c *Client) newHeader(key string, isWrite bool) http.Header {
	header := make(http.Header, len(c.profile.Header)+4)
	maps.Copy(header, c.profile.Header)
	values := make([]string, 0, 4)
	set := func(name, value string) {
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set("User-Agent", c.config.userAgent)
	set("Accept", "application/json")
	if !isWrite {
		return header
	}
	set("Content-Type", "application/json")
	if name := c.profile.Key.Header; name != "" {
		set(http.CanonicalHeaderKey(name), key)
	}
	return header
}

// String names the provider and never a secret.
func (c *Client) String() string { return "unavez.Client(" + c.profile.Name + ")" }

// Format implements [fmt.Formatter], so that no verb prints the provider's credentials.
func (c *Client) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, c.String()) }

// LogValue implements [slog.LogValuer].
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// newOperation merges the client's defaults and the options of one call.
func (c *Client) newOperation(ctx context.Context, name OperationName, options []CallOption) (*operation, *Error) {
	if ctx == nil {
		return nil, c.refusal(name, "", "ctx is nil", nil)
	}
	o := &operation{client: c, rules: c.operations[RawOperation]}
	o.config.attemptConfig = c.config.attempts
	o.intent.Operation = name
	for i, option := range options {
		if option == nil {
			return nil, c.refusal(name, "", fmt.Sprintf("call option %d is nil", i), nil)
		}
		if err := option.applyToCall(&o.config); err != nil {
			return nil, c.refusal(name, "", fmt.Sprintf("call option %d: %s", i, err), nil)
		}
	}
	return o, nil
}
