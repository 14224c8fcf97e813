package unavez

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

const (
	defaultTimeout     = 30 * time.Second
	defaultMaxAttempts = 5
	defaultMaxWait     = 30 * time.Second
)

// ClientOption configures a [Client] in [New].
type ClientOption interface {
	applyToClient(config *clientConfig) error
}

// CallOption configures one call.
type CallOption interface {
	applyToCall(config *callConfig) error
}

// Option configures a client, as the default of all its calls, or one call.
type Option interface {
	ClientOption
	CallOption
}

type clientConfig struct {
	namespace   string
	environment Environment
	httpClient  *http.Client
	journal     Journal
	logger      *slog.Logger
	observer    func(context.Context, Event)
	userAgent   string
	attempts    attemptConfig
}

// attemptConfig is what both a client and a call can set.
type attemptConfig struct {
	timeout     time.Duration
	maxAttempts int
	maxWait     time.Duration
	jitter      float64
}

type callConfig struct {
	attemptConfig
	key        string
	hasKey     bool
	kind, id   string
	hasDomain  bool
	reference  *InvoiceRef
	lookupOnly bool
}

type clientOption func(*clientConfig) error

func (o clientOption) applyToClient(config *clientConfig) error { return o(config) }

type callOption func(*callConfig) error

func (o callOption) applyToCall(config *callConfig) error { return o(config) }

type attemptOption func(*attemptConfig) error

func (o attemptOption) applyToClient(config *clientConfig) error { return o(&config.attempts) }
func (o attemptOption) applyToCall(config *callConfig) error     { return o(&config.attemptConfig) }

// WithNamespace names the program that owns the records, as the first part of every derived key: "mi-erp" in
// "mi-erp:prod:factura:4471". It is needed for [WithDomainID] and must never change afterwards.
func WithNamespace(namespace string) ClientOption {
	return clientOption(func(config *clientConfig) error {
		if namespace == "" {
			return errors.New("namespace is empty, expected the name of the program that owns the records")
		}
		config.namespace = namespace
		return nil
	})
}

// WithEnvironment says whether the client stamps for real. It is part of every derived key, and decides the documented
// address of the provider when BaseURL is empty.
func WithEnvironment(environment Environment) ClientOption {
	return clientOption(func(config *clientConfig) error {
		if environment != Production && environment != Test {
			return errors.New("environment is neither Production nor Test")
		}
		config.environment = environment
		return nil
	})
}

// WithHTTPClient makes the client send through client's Transport, with its cookie jar and its Timeout (which then bounds
// one attempt beside [WithTimeout]). The http.Client is not changed and not kept, and its CheckRedirect is not used:
// no redirect is ever followed. The default is an own transport with keep-alive, a dial timeout and a TLS
// timeout of 10 s each.
//
// A Transport that sends a request a second time on its own makes the promise of this package void.
func WithHTTPClient(client *http.Client) ClientOption {
	return clientOption(func(config *clientConfig) error {
		if client == nil {
			return errors.New("http client is nil")
		}
		config.httpClient = client
		return nil
	})
}

// WithJournal sets the record of operations. The default is [NewMemoryJournal], which forgets everything when the
// process ends; replicas that share work must share a durable journal.
func WithJournal(journal Journal) ClientOption {
	return clientOption(func(config *clientConfig) error {
		if journal == nil {
			return errors.New("journal is nil")
		}
		config.journal = journal
		return nil
	})
}

// WithLogger makes the client log each attempt and each document at debug level, each wait and each error at info level, and an operation that
// needs a person at warn level. Keys are logged as a hash only, since a key may be built
// from personal data; bodies, messages and credentials are never logged. The default is silence.
func WithLogger(logger *slog.Logger) ClientOption {
	return clientOption(func(config *clientConfig) error {
		if logger == nil {
			return errors.New("logger is nil")
		}
		config.logger = logger
		return nil
	})
}

// WithObserver calls observe at every event of every operation, in order for one operation, from the goroutine that
// performs it. It must be safe for concurrent use, return quickly and not call the client.
func WithObserver(observe func(context.Context, Event)) ClientOption {
	return clientOption(func(config *clientConfig) error {
		if observe == nil {
			return errors.New("observer is nil")
		}
		config.observer = observe
		return nil
	})
}

// WithUserAgent sets the User-Agent header. The default is "unavez-go".
func WithUserAgent(userAgent string) ClientOption {
	return clientOption(func(config *clientConfig) error {
		for i := range len(userAgent) {
			if userAgent[i] < ' ' || userAgent[i] > '~' {
				return fmt.Errorf("user agent has byte 0x%02x at position %d, expected printable ASCII", userAgent[i], i)
			}
		}
		if userAgent == "" {
			return errors.New("user agent is empty")
		}
		config.userAgent = userAgent
		return nil
	})
}

// WithIdempotencyKey gives the key of the operation. It is sent exactly as given and must fit the provider's
// rule, else the call is refused with [ErrKeyInvalid] before anything is sent. Derive it from your own record,
// with the environment in it; a random key or a clock in it protects nothing.
func WithIdempotencyKey(key string) CallOption {
	return callOption(func(config *callConfig) error {
		config.key, config.hasKey = key, true
		return nil
	})
}

// WithDomainID derives the key from your own record: WithDomainID("factura", "4471") of a client with namespace
// "mi-erp" in Production is the key "mi-erp:prod:factura:4471". See [Client.DeriveKey].
//
// Every operation on a record needs a kind of its own: an invoice and its cancellation with one kind would share one key,
// and the second is refused with [ErrKeyReused].
func WithDomainID(kind, id string) CallOption {
	return callOption(func(config *callConfig) error {
		config.kind, config.id, config.hasDomain = kind, id, true
		return nil
	})
}

// WithReference lets Reconcile and Await ask a provider that looks documents up by their identity: Ipsofactura by
// issuer, series and folio. The row that comes back must repeat all of it.
func WithReference(reference InvoiceRef) CallOption {
	return callOption(func(config *callConfig) error {
		config.reference = &reference
		return nil
	})
}

// WithLookupOnly forbids Reconcile and Await to send the recorded request again, which is how providers without a lookup are asked.
func WithLookupOnly() CallOption {
	return callOption(func(config *callConfig) error {
		config.lookupOnly = true
		return nil
	})
}

// WithTimeout bounds one attempt, from the dial to the last byte of the answer. The default is 30 s, as the providers' pages advise.
func WithTimeout(timeout time.Duration) Option {
	return attemptOption(func(config *attemptConfig) error {
		if timeout <= 0 {
			return fmt.Errorf("timeout is %s, expected more than zero", timeout)
		}
		config.timeout = timeout
		return nil
	})
}

// WithMaxAttempts bounds the writes of one call, the first included, and so the waits: one fewer than the attempts. Lookups do
// not count as attempts, but each wait before one is taken from the same waits. The default is 5, which makes the waits
// 1, 2, 4 and 8 s.
func WithMaxAttempts(attempts int) Option {
	return attemptOption(func(config *attemptConfig) error {
		if attempts < 1 {
			return fmt.Errorf("max attempts is %d, expected at least 1", attempts)
		}
		config.maxAttempts = attempts
		return nil
	})
}

// WithMaxWait is the longest single wait that a call sleeps. A longer one, asked by Retry-After or by the ladder
// of 1, 2, 4, 8 s, ends the call at once with [RetryLater] and the time. The default is 30 s; zero means that the
// call never sleeps. A call that joins one with the same key that is already under way waits as that one does, at most until its own
// context ends.
func WithMaxWait(wait time.Duration) Option {
	return attemptOption(func(config *attemptConfig) error {
		if wait < 0 {
			return fmt.Errorf("max wait is %s, expected zero or more", wait)
		}
		config.maxWait = wait
		return nil
	})
}

// WithJitter lengthens every wait by a random part of it, up to the fraction: 0.25 makes 4 s anything from 4 to 5 s. It
// never shortens a wait and never passes [WithMaxWait]. The default is 0; the largest is 1.
func WithJitter(fraction float64) Option {
	return attemptOption(func(config *attemptConfig) error {
		if !(fraction >= 0 && fraction <= 1) {
			return errors.New("jitter is not a fraction from 0 to 1")
		}
		config.jitter = fraction
		return nil
	})
}
