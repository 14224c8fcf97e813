package sandbox

import "time"

// Option configures a Server.
type Option interface {
	apply(s *settings)
}

type settings struct {
	clock     func() time.Time
	accepted  map[string]bool // nil accepts every key
	forbidden map[string]bool
	lag       time.Duration
}

type optionFunc func(*settings)

func (f optionFunc) apply(s *settings) { f(s) }

// WithClock makes the server take the time from now instead of time.Now. It
// decides when keys expire, when pending work settles and what stampedAt says;
// how long a fault waits is still measured by timers. The function has to be
// safe for concurrent use and must not call the Server.
func WithClock(now func() time.Time) Option {
	return optionFunc(func(s *settings) { s.clock = now })
}

// WithAPIKeys accepts only the API keys given, at every provider; any other is
// answered 401. By default every key that is not empty is accepted. Given more
// than once, the keys add up.
func WithAPIKeys(keys ...string) Option {
	return optionFunc(func(s *settings) { s.accepted = adding(s.accepted, keys) })
}

// WithForbiddenAPIKeys answers 403 to the API keys given: they are known, and
// lack the right. It takes precedence over WithAPIKeys.
func WithForbiddenAPIKeys(keys ...string) Option {
	return optionFunc(func(s *settings) { s.forbidden = adding(s.forbidden, keys) })
}

// WithLookupLag makes every lookup see the server as it was d ago, as a replica
// that lags does: a row is visible d after its commit. The default is 0.
func WithLookupLag(d time.Duration) Option {
	return optionFunc(func(s *settings) { s.lag = d })
}

func adding(set map[string]bool, keys []string) map[string]bool {
	if set == nil {
		set = make(map[string]bool, len(keys))
	}
	for _, key := range keys {
		set[key] = true
	}
	return set
}
