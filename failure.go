package unavez

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// This file builds every *Error. Nothing else sets a disposition on one.

// newError turns the decision that ended the call into its error; nil if it ended with a document.
func (o *operation) newError(d decision) *Error {
	if d.document != nil {
		return nil
	}
	err := o.client.newError(&o.intent, d.disposition, d.effect, d.next)
	answer := d.evidence
	if answer.status == 0 && o.last != nil {
		answer = *o.last
	}
	err.HTTPStatus, err.Code, err.Message = answer.status, answer.code, answer.message
	err.RequestID, err.FieldErrors, err.Status = answer.requestID, answer.fieldErrors, answer.word
	err.Reason, err.UUID, err.UUIDs, err.Err = d.reason, d.uuid, d.uuids, d.err
	err.detail, err.says = d.detail, d.says
	for _, mark := range d.marks {
		err.mark(mark)
	}
	if d.disposition == RetryLater {
		retryAfter := max(d.retryAfter, shortest)
		if o.uncertain { // a request that was cut stays in flight for as long as the provider's page says
			retryAfter = max(retryAfter, o.client.profile.InFlightFor)
		}
		err.setRetry(retryAfter)
	}
	o.mu.Lock()
	err.Attempts = slices.Clone(o.attempts)
	o.mu.Unlock()
	return err
}

func (c *Client) newError(intent *Intent, disposition Disposition, effect Effect, next Next) *Error {
	return &Error{
		Op: string(cmp.Or(intent.Operation, anyReconcile)), Provider: c.profile.Name, Key: intent.Key,
		Disposition: disposition, Effect: effect, Next: next,
	}
}

func (e *Error) setRetry(after time.Duration) {
	e.RetryAfter, e.RetryAt = after, time.Now().Add(after)
}

// shortest is the default time after which a caller may come back.
const shortest = time.Second

// refusal is for everything that is wrong before anything is sent.
func (c *Client) refusal(operation OperationName, key, detail string, mark error) *Error {
	err := c.newError(&Intent{RecordID: RecordID{Key: key}, Operation: operation}, Refused, NotSent, NextFixSameKey)
	err.detail = detail
	err.mark(mark)
	return err
}

func (c *Client) refuseNil(operation OperationName, what string) error {
	return c.refusal(operation, "", what+" is nil", nil)
}

func (c *Client) unsupported(operation OperationName) *Error {
	err := c.refusal(operation, "", "the provider documents no such operation", nil)
	err.Err = errors.ErrUnsupported
	return err
}

// fieldProblem is the part of a provider's error that may be shown: its other errors may quote what they were given.
func fieldProblem(err error) string {
	var field *FieldError
	if errors.As(err, &field) {
		return field.Error()
	}
	return "the request could not be encoded"
}

// refuseParams names the field.
func (c *Client) refuseParams(operation OperationName, key string, cause error) *Error {
	var field *FieldError
	switch {
	case errors.As(cause, &field):
		err := c.refusal(operation, key, fieldProblem(cause), nil)
		err.Err, err.FieldErrors = field, map[string]string{field.Field: field.Problem}
		return err
	case errors.Is(cause, errors.ErrUnsupported):
		err := c.unsupported(operation)
		err.Key = key
		return err
	}
	err := c.refusal(operation, key, fieldProblem(cause), nil)
	err.Err = cause
	return err
}

// journalError is for an intent that could not be recorded: this call has sent nothing. An earlier one may have: only a journal
// that answers, and knows of none, says otherwise.
func (c *Client) journalError(ctx context.Context, intent *Intent, cause error) *Error {
	err := c.newError(intent, RetryLater, NotSent, NextResend)
	err.setRetry(shortest)
	if c.mayHaveLeft(ctx, intent) {
		err.Effect, err.Next = Unknown, NextReconcile
		err.mark(ErrOutcomeUnknown)
	}
	if ctx.Err() != nil {
		err.detail, err.Err = "the caller's context ended before anything was begun; this call has sent nothing", context.Cause(ctx)
		return err
	}
	err.detail, err.Err = "the journal could not record the intent, so this call has sent nothing", cause
	err.mark(ErrNotRecorded)
	return err
}

// loadTimeout bounds the look into a journal that has just failed, or whose caller is gone.
const loadTimeout = time.Second

func (c *Client) mayHaveLeft(ctx context.Context, intent *Intent) bool {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	record, err := c.config.journal.Load(bounded, intent.RecordID)
	switch {
	case errors.Is(err, ErrNoRecord):
		return intent.Reconciling // somebody asked: the key was used, by whoever lost this journal
	case err != nil:
		return true
	}
	return record.MayBeExecuted()
}

func (c *Client) heldError(record *Record, intent *Intent) *Error {
	err := c.newError(intent, RetryLater, Unknown, NextReconcile)
	err.isHeld = true
	err.detail = "another process or client is at work on this key; if it has died, its claim ends in " +
		(record.HeldFor + time.Second - 1).Truncate(time.Second).String()
	err.mark(ErrOutcomeUnknown)
	err.setRetry(max(min(record.HeldFor, lastStep), shortest))
	return err
}

// reusedError is for a key that the journal holds for other bytes. While that operation is unresolved a person must look.
func (c *Client) reusedError(intent *Intent, disposition Disposition) *Error {
	err := c.newError(intent, disposition, NotSent, NextReconcile)
	err.detail = "the journal holds this key for a request with other bytes or of another kind; nothing was sent, " +
		"and Reconcile answers for that request, not for this one"
	err.mark(ErrKeyReused)
	if disposition == NeedsManualReview {
		err.Reason, err.Effect = ReasonKeyReused, Unknown
	}
	return err
}

// isReusedInJournal reports that the journal, or a call that is under way, holds the key for other bytes.
func (e *Error) isReusedInJournal() bool {
	return e != nil && e.HTTPStatus == 0 && len(e.Attempts) == 0 && errors.Is(e, ErrKeyReused)
}

// recordedError answers again what the journal recorded.
func (c *Client) recordedError(record *Record) *Error {
	d := c.recordedDecision(record)
	o := &operation{client: c, intent: Intent{RecordID: record.RecordID, Operation: record.Operation}}
	return o.newError(d)
}

func (c *Client) recordedDecision(record *Record) decision {
	result := &record.Result
	d := decision{
		effect: result.Effect, disposition: result.Disposition, reason: result.Reason, next: result.Next,
		evidence: evidence{status: result.HTTPStatus, code: result.Code, requestID: result.RequestID},
		detail:   "answered from the journal; nothing was sent", keepsRecord: true,
	}
	switch result.Reason {
	case ReasonKeyReused:
		d.marks = append(d.marks, ErrKeyReused)
	case ReasonOutcomeUnknown, ReasonKeyExpired:
		d.marks = append(d.marks, ErrOutcomeUnknown)
	case ReasonFailed:
		if result.Effect == Unknown {
			d.marks, d.detail = append(d.marks, ErrOutcomeUnknown), d.detail+": "+detailFailedBefore
			break
		}
		d.says = c.rulesByName(record.Operation).FailedHint
	default:
		c.recallRule(&d)
	}
	if record.State == StateQueued {
		d.effect, d.disposition, d.next = NotSent, RetryLater, NextResend
		d.detail = "the intent is recorded and was not sent yet"
	}
	return d
}

// recallRule finds again what the rule of the recorded answer says; the journal keeps status and code, not our words.
func (c *Client) recallRule(d *decision) {
	rule := findRule(c.rules, d.status, d.code, "", false)
	if rule == nil || d.status < 300 {
		return
	}
	d.says = rule.Says
	if rule.Marks != nil {
		d.marks = append(d.marks, rule.Marks)
	}
}

// leftError is for a caller whose context ended while the operation goes on for others: whatever it has sent so far, it may send
// more.
func (c *Client) leftError(ctx context.Context, f *flight, asks question) *Error {
	attempts, rules := f.snapshot()
	err := c.newError(f.intent(asks), RetryLater, Unknown, NextResend)
	err.Err, err.Attempts = context.Cause(ctx), attempts
	err.detail = "the operation goes on for another caller"
	err.mark(ErrOutcomeUnknown)
	err.setRetry(shortest)
	if asks.reconciling || rules.Ambiguity != AmbiguityResend {
		err.Next = NextReconcile
	}
	return err
}

// brokenError is for callers of an operation that ended below the client, by a panic or runtime.Goexit in a transport, a journal
// or an observer.
func (c *Client) brokenError(f *flight) *Error {
	err := c.newError(f.intent(f.asks), RetryLater, Unknown, NextReconcile)
	err.detail = "a transport, a journal or an observer ended the goroutine of the operation"
	err.mark(ErrOutcomeUnknown)
	err.setRetry(shortest)
	return err
}

// orNil keeps a nil *Error from becoming an error that is not nil.
func (e *Error) orNil() error {
	if e == nil {
		return nil
	}
	return e
}

// clone gives a caller an error of its own, which it may change.
func (e *Error) clone() *Error {
	if e == nil {
		return nil
	}
	twin := *e
	twin.FieldErrors = maps.Clone(e.FieldErrors)
	twin.Attempts, twin.UUIDs = slices.Clone(e.Attempts), slices.Clone(e.UUIDs)
	twin.marks = slices.Clone(e.marks)
	return &twin
}
