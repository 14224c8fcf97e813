package unavez

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"time"
)

// Event is one step of an operation, for [WithObserver]. It holds no body and no secret. Key and Err may hold what the
// caller put into its keys and what the provider wrote; treat them accordingly.
type Event struct {
	Kind EventKind
	// Op, Provider and Key name the operation.
	Op, Provider, Key string
	// Attempt is the attempt that just ended; set for EventAttempt.
	Attempt *Attempt
	// Wait is how long the client is about to sleep; set for EventWait.
	Wait time.Duration
	// Attempts lists every write and every lookup of the operation, and Err is its error, nil if it ended with a document; both
	// are set for EventFinished.
	Attempts []Attempt
	Err      *Error
}

// EventKind tells the events apart.
type EventKind string

const (
	// EventAttempt: a write or a lookup has ended.
	EventAttempt EventKind = "attempt"
	// EventWait: the client is about to sleep.
	EventWait EventKind = "wait"
	// EventFinished: the call is about to return.
	EventFinished EventKind = "finished"
)

func (c *Client) observe(ctx context.Context, event *Event) {
	if c.config.observer != nil {
		event.Provider = c.profile.Name
		c.config.observer(ctx, *event)
	}
	if c.config.logger != nil {
		c.log(ctx, event)
	}
}

// isObserved reports whether an event needs to be built at all.
func (c *Client) isObserved() bool { return c.config.observer != nil || c.config.logger != nil }

func (c *Client) log(ctx context.Context, event *Event) {
	level := slog.LevelDebug
	switch {
	case event.Kind == EventWait:
		level = slog.LevelInfo
	case event.Err != nil && event.Err.Disposition == NeedsManualReview:
		level = slog.LevelWarn
	case event.Err != nil:
		level = slog.LevelInfo
	}
	if !c.config.logger.Enabled(ctx, level) {
		return
	}
	attributes := []slog.Attr{
		slog.String("event", string(event.Kind)), slog.String("op", event.Op),
		slog.String("provider", c.profile.Name), slog.String("key_sha256", hashForLog(event.Key)),
	}
	attributes = append(attributes, eventAttributes(event)...)
	c.config.logger.LogAttrs(ctx, level, "unavez", attributes...)
}

func eventAttributes(event *Event) []slog.Attr {
	switch {
	case event.Attempt != nil:
		attributes := []slog.Attr{
			slog.Int("attempt", event.Attempt.Number), slog.String("kind", string(event.Attempt.Kind)),
			slog.String("effect", string(event.Attempt.Effect)), slog.Duration("duration", event.Attempt.Duration),
		}
		if event.Attempt.HTTPStatus != 0 {
			attributes = append(attributes, slog.Int("status", event.Attempt.HTTPStatus))
		}
		if isToken(event.Attempt.Code) {
			attributes = append(attributes, slog.String("code", event.Attempt.Code))
		}
		return attributes
	case event.Kind == EventWait:
		return []slog.Attr{slog.Duration("wait", event.Wait)}
	case event.Err != nil:
		return []slog.Attr{
			slog.String("disposition", string(event.Err.Disposition)), slog.String("reason", string(event.Err.Reason)),
			slog.String("effect", string(event.Err.Effect)), slog.String("next", string(event.Err.Next)),
		}
	}
	return nil
}

// hashForLog lets two log lines of one key be found together without showing the key.
func hashForLog(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}
