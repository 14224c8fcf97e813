package unavez_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// What must hold, for any script:
//
//	(a) the ledger holds at most one effect per key;
//	(b) the caller's answer agrees with the ledger;
//	(c) every error matches exactly one of the three dispositions;
//	(d) every write under one key has the same bytes;
//	(e) attempts equal the requests at the server;
//	(f) no wait is longer than WithMaxWait, none passes the deadline, no attempt takes longer than WithTimeout;
//	(g) a call writes at most WithMaxAttempts times;
//	(h) no error text holds the key, the credentials or the name of a field's value.
//
// A provider that answers against its own page makes (b) void, and with it (a) once the provider has forgotten the key: nobody can
// know better than what he is told. propertyAnswer.lies says which answers these are. Everything else is required nevertheless.

func (r *propertyRun) failf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = append(r.broken, fmt.Sprintf("step %d: ", r.step)+fmt.Sprintf(format, args...))
}

// checkCall holds one call's answer against the ledger at the moment in which the caller hears it.
func (r *propertyRun) checkCall(ctx context.Context, call *propertyCall) {
	if call.found == nil && call.err == nil {
		r.failf("(b) neither a document nor an error")
	}
	if deadline, ok := ctx.Deadline(); ok && call.end.After(deadline) {
		r.failf("(f) the call returned %s after its deadline", call.end.Sub(deadline))
	}
	if call.err == nil {
		ledger := r.server.Ledger()
		if !r.isLiedTo(ledger) && !call.found.isIn(ledger) {
			r.failf("(b) returned %+v, which the ledger does not hold", *call.found)
		}
		return
	}
	if call.found != nil {
		r.failf("(b) a document together with the error %v", call.err)
	}
	var failure *unavez.Error
	if !errors.As(call.err, &failure) {
		r.failf("(c) an error that is no *unavez.Error: %v", call.err)
		return
	}
	r.checkError(failure)
	r.checkClaim(call, failure)
}

func (r *propertyRun) checkError(failure *unavez.Error) {
	matches := 0
	for _, sentinel := range []error{unavez.ErrRefused, unavez.ErrRetryLater, unavez.ErrNeedsManualReview} {
		if errors.Is(failure, sentinel) {
			matches++
		}
	}
	if matches != 1 {
		r.failf("(c) the error matches %d dispositions: %v", matches, failure)
	}
	isLater := failure.Disposition == unavez.RetryLater
	switch {
	case isLater != (failure.RetryAfter > 0), isLater == failure.RetryAt.IsZero():
		r.failf("(c) %s with RetryAfter %s and RetryAt %s", failure.Disposition, failure.RetryAfter, failure.RetryAt)
	case (failure.Disposition == unavez.NeedsManualReview) == (failure.Reason == ""):
		r.failf("(c) %s with reason %q", failure.Disposition, failure.Reason)
	case failure.Key != propertyKey:
		r.failf("(c) the error has the key %q", failure.Key)
	case failure.Effect == "", failure.Next == "":
		r.failf("(c) the error has effect %q and next %q", failure.Effect, failure.Next)
	case isLater && failure.Effect == unavez.NotSent && errors.Is(failure, unavez.ErrOutcomeUnknown):
		r.failf("(c) nothing was sent and the outcome is unknown: %v", failure)
	case failure.Disposition == unavez.Refused && errors.Is(failure, unavez.ErrOutcomeUnknown):
		r.failf("(c) refused and the outcome is unknown: %v", failure)
	}
	text := failure.Error() + failure.Explain()
	for _, secret := range []string{propertyKey, propertySecret, "4471", "EKU9003173C9", "<html>"} {
		if strings.Contains(text, secret) {
			r.failf("(h) the error text holds %q: %s", secret, text)
		}
	}
}

// checkClaim holds what the error says of the effect against the ledger.
func (r *propertyRun) checkClaim(call *propertyCall, failure *unavez.Error) {
	if errors.Is(failure, unavez.ErrKeyReused) || r.isForeign(call) {
		return // the key is another request's, and so is what the ledger holds
	}
	ledger := r.server.Ledger()
	count := effectsOf(ledger)
	if len(r.script.steps[call.step].callers) > 1 {
		count = call.effectsBefore // what was done since may be another caller's deed, at the very same moment
	}
	saysNothing := failure.Disposition == unavez.Refused || failure.Effect == unavez.NotSent || failure.Effect == unavez.NotExecuted
	switch {
	case r.isLiedTo(ledger):
	case saysNothing && count > 0:
		r.failf("(b) %s, effect %s, and the ledger holds an effect: %v", failure.Disposition, failure.Effect, failure)
	case failure.Effect == unavez.Executed && effectsOf(ledger) == 0:
		r.failf("(b) effect executed, and the ledger holds none: %v", failure)
	}
}

// checkLater looks at the ledger again after a pause without calls: what was in flight has landed, and still agrees with the last
// answer that was given.
func (r *propertyRun) checkLater(step int) {
	var last *propertyCall
	for _, call := range r.calls {
		if call.step == step && (last == nil || call.end.After(last.end)) {
			last = call
		}
	}
	var failure *unavez.Error
	if last != nil && errors.As(last.err, &failure) {
		r.step = step
		r.checkClaim(last, failure)
	}
}

// isForeign reports that a process with another journal has sent something under the key, of which this one cannot know.
func (r *propertyRun) isForeign(call *propertyCall) bool {
	if !r.script.hasOwnJournal {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, answer := range r.answers {
		if answer.isWrite && answer.client != call.client {
			return true
		}
	}
	return false
}

// isLiedTo reports whether some answer so far was against the provider's own page, or a verdict on the payload was given while
// another request with the same bytes was on its way, and that one was executed: then two verdicts on one payload differ.
func (r *propertyRun) isLiedTo(ledger []sandbox.Entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, answer := range r.answers {
		if answer.lies(r.script.provider, ledger) {
			return true
		}
		claim, _ := answer.claim(r.script.provider)
		if claim == claimsVerdict && answer.isWrite && effectsOf(ledger) > 0 && r.wasInFlight(answer) {
			return true
		}
	}
	return false
}

// wasInFlight reports a write before the verdict that may still have been at work: no answer came, or one that leaves it open.
// Needs the mutex.
func (r *propertyRun) wasInFlight(verdict *propertyAnswer) bool {
	for _, answer := range r.answers {
		if !answer.isWrite || answer == verdict || answer.start.After(verdict.end) {
			continue
		}
		if claim, _ := answer.claim(r.script.provider); claim == claimsNothing {
			return true
		}
	}
	return false
}

func effectsOf(ledger []sandbox.Entry) int {
	count := 0
	for _, entry := range ledger {
		if entry.Key == propertyKey {
			count++
		}
	}
	return count
}

// checkStep holds what the clients say they did against what arrived at the server.
func (r *propertyRun) checkStep(step *propertyStep, calls []*propertyCall, requests []sandbox.Request) {
	for number, client := range r.clients {
		r.checkAttempts(client, requests)
		r.checkWaits(step, client, number)
		for call, writes := range client.perCall {
			if step.kind != propertyAwait && writes > step.maxAttempts {
				r.failf("(g) call %d wrote %d times, WithMaxAttempts is %d", call, writes, step.maxAttempts)
			}
		}
		for _, attempt := range client.attempts {
			if attempt.Duration > step.timeout {
				r.failf("(f) an attempt took %s, WithTimeout is %s", attempt.Duration, step.timeout)
			}
		}
	}
	for _, call := range calls {
		r.checkAttemptsOfCall(step, call)
	}
	if effects := r.server.Effects(propertyKey); effects > 1 && !r.wasForgotten() {
		r.failf("(a) the ledger holds %d effects of one key", effects)
	}
}

// checkAttempts counts. Nothing may arrive that the client does not tell of. Whether a request has arrived that timed out or was
// cancelled is not known: it may have been left in the connection. Lookups may be sent a second time by net/http, which does so where a
// reused connection turns out to be dead; they change nothing.
func (r *propertyRun) checkAttempts(client *propertyClient, requests []sandbox.Request) {
	arrived := map[string]int{}
	for i := range requests {
		if requests[i].Header.Get("User-Agent") == client.name {
			arrived[requests[i].Method]++
		}
	}
	sure, maybe := map[unavez.AttemptKind]int{}, map[unavez.AttemptKind]int{}
	for i := range client.attempts {
		switch attempt := &client.attempts[i]; {
		case attempt.Effect == unavez.NotSent:
		case isContextError(attempt.Err), attempt.Kind == unavez.AttemptLookup && attempt.Err != nil:
			maybe[attempt.Kind]++
		default:
			sure[attempt.Kind]++
		}
	}
	const write, lookup = unavez.AttemptWrite, unavez.AttemptLookup
	if got := arrived[http.MethodPost]; got < sure[write] || got > sure[write]+maybe[write] {
		r.failf("(e) %s tells of %d writes, and %d more without an answer; %d arrived", client.name, sure[write], maybe[write], got)
	}
	if got := arrived[http.MethodGet]; got < sure[lookup] || got > 2*(sure[lookup]+maybe[lookup]) {
		r.failf("(e) %s tells of %d lookups, and %d more without an answer; %d arrived", client.name, sure[lookup], maybe[lookup], got)
	}
}

func isContextError(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// checkAttemptsOfCall compares the list in the error with what the observer saw, for a call that nobody shared.
func (r *propertyRun) checkAttemptsOfCall(step *propertyStep, call *propertyCall) {
	alone := 0
	for _, caller := range step.callers {
		if caller.client == call.client {
			alone++
		}
	}
	var failure *unavez.Error
	if !errors.As(call.err, &failure) {
		return
	}
	for i, attempt := range failure.Attempts {
		if attempt.Number != i+1 {
			r.failf("(e) attempt %d of the error has the number %d", i, attempt.Number)
		}
	}
	if observed := len(r.clients[call.client].attempts); alone == 1 && step.kind != propertyAwait && len(failure.Attempts) != observed {
		r.failf("(e) the error lists %d attempts, the observer saw %d", len(failure.Attempts), observed)
	}
}

func (r *propertyRun) checkWaits(step *propertyStep, client *propertyClient, number int) {
	latest, isBounded := r.latestDeadline(step, number)
	for _, wait := range client.waits {
		if wait.wait > step.maxWait {
			r.failf("(f) %s waited %s, WithMaxWait is %s", client.name, wait.wait, step.maxWait)
		}
		if isBounded && !wait.at.Add(wait.wait).Before(latest) {
			r.failf("(f) %s began a wait of %s, %s before the last deadline", client.name, wait.wait, latest.Sub(wait.at))
		}
	}
}

// latestDeadline is when the last caller of the client gives up, unless one never does.
func (r *propertyRun) latestDeadline(step *propertyStep, number int) (latest time.Time, isBounded bool) {
	began := time.Time{}
	for _, call := range r.calls {
		if call.step == r.step && (began.IsZero() || call.start.Before(began)) {
			began = call.start
		}
	}
	isBounded = true
	for i, call := range r.calls[len(r.calls)-len(step.callers):] {
		if call.client != number {
			continue
		}
		deadline := step.callers[i].deadline
		if step.kind == propertyAwait && deadline == 0 {
			deadline = propertyPatience
		}
		isBounded = isBounded && deadline > 0
		if at := call.start.Add(deadline); at.After(latest) {
			latest = at
		}
	}
	return latest, isBounded
}

// wasForgotten reports that a provider lied, and that its memory of the key has ended since: then nothing protects the key any more.
func (r *propertyRun) wasForgotten() bool {
	memory := map[string]time.Duration{"payouts": 24 * time.Hour, "ipsofactura": 96 * time.Hour}[r.script.provider]
	ledger := r.server.Ledger()
	if memory == 0 || !r.isLiedTo(ledger) {
		return false
	}
	var first, last time.Time
	for _, entry := range ledger {
		if entry.Key == propertyKey && first.IsZero() {
			first = entry.At
		}
		last = entry.At
	}
	return last.Sub(first) >= memory-time.Hour
}

// checkWire holds the bytes of all writes under the key against each other.
func (r *propertyRun) checkWire() {
	var body []byte
	for _, request := range r.server.Requests() {
		if request.Method != http.MethodPost || r.keyOf(&request) != propertyKey {
			continue
		}
		if body == nil {
			body = request.Body
		}
		if !bytes.Equal(request.Body, body) {
			r.failf("(d) one key, two bodies: %s and %s", body, request.Body)
		}
	}
	for _, id := range []string{"1", "2"} {
		if effects := r.server.Effects("mi-erp:test:factura:" + id); effects != 1 {
			r.failf("(a) the record beside it has %d effects", effects)
		}
	}
}

func (r *propertyRun) keyOf(request *sandbox.Request) string {
	if key := request.Header.Get("Idempotency-Key"); key != "" && len(request.Body) > 0 {
		return key
	}
	var body struct {
		IdempotencyKey string `json:"idempotencyKey"`
	}
	_ = json.Unmarshal(request.Body, &body) // a body that was not read whole is no evidence
	return body.IdempotencyKey
}
