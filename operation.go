package unavez

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/go-retryablehttp"
)

const (
	firstStep = time.Second
	lastStep  = 8 * time.Second
	// windowMargin is kept free at the end of a provider's retention, for what a request spends on its way.
	windowMargin = 5 * time.Minute
	// leaseMargin is what a lease holds beyond the longest attempt and the longest wait.
	leaseMargin = 15 * time.Second
)

// operation is one call at work: its frozen request, its budget, and what is known so far. One goroutine drives it.
type operation struct {
	exchange

	client *Client
	config callConfig
	intent Intent
	flight *flight

	isClaimed bool
	// mayHaveTwin says that a key which the journal holds for other bytes is asked for once more, as [Intent] says of its twin.
	mayHaveTwin bool
	// decision is what the last attempt without a document means; document and status are those of the one that ended it well.
	decision *decision
	document *document
	status   int
	ladder   backoff.BackOff
	step     time.Duration
	wait     time.Duration
	waited   time.Duration
	writes   int
	// uncertain says that some attempt may have been executed, isLost that the answer to one never came.
	uncertain, isLost bool
	// mayBeUnderWay says that nothing has told what became of some write: it may still be executed.
	mayBeUnderWay bool
	// isCalledDone says that an answer called it done without showing the document.
	isCalledDone bool
	// hasReached says that the provider has answered some attempt: what follows is no longer "not sent".
	hasReached  bool
	isReconcile bool
	// earlierWrites are those of earlier calls with this key.
	earlierWrites int
	// last is what the last answer said; attempts without one do not take it away.
	last *evidence
	// windowEnds is when the provider forgets the key; the zero time if it never does.
	windowEnds time.Time

	mu       sync.Mutex // guards what a caller that leaves early reads
	rules    *OperationRules
	attempts []Attempt
	first    [1]Attempt // most operations need no second one
}

// operationContext carries the operation to the shared retry client: the caller's context, with two values more.
type operationContext struct {
	context.Context //nolint:containedctx // it is a context

	operation *operation
}

// evidence is what an answer says for a person or for the provider's support.
type evidence struct {
	status                   int
	code, message, requestID string
	word                     string
	fieldErrors              map[string]string
}

type operationKey struct{}

// Value implements [context.Context].
func (c operationContext) Value(key any) any {
	switch key.(type) {
	case operationKey:
		return c.operation
	case exchangeKey:
		return &c.operation.exchange
	}
	return c.Context.Value(key)
}

func operationOf(ctx context.Context) *operation {
	o, _ := ctx.Value(operationKey{}).(*operation)
	return o
}

// send writes until an answer ends it, the budget does, or something has to be looked up. The decision is the last one.
func (o *operation) send(ctx context.Context) decision {
	request, err := o.newRequest(ctx)
	if err != nil {
		return decision{effect: NotSent, disposition: Refused, next: NextFixSameKey, detail: "the address of the request is malformed"}
	}
	o.decision = nil
	response, err := o.client.retry.Do(request)
	if response != nil {
		_ = response.Body.Close()
	}
	switch {
	case o.document != nil:
		return decision{then: stepReturn, document: o.document, evidence: evidence{status: o.status}}
	case o.decision == nil: // it ended before the first attempt
		return o.interrupted(ctx, decision{effect: NotSent}, err)
	case errors.Is(err, errKeyExpired):
		return o.expired(*o.decision)
	case errors.Is(err, errInVain):
		return o.stopped(*o.decision)
	case err != nil && o.decision.then == StepResend:
		return o.interrupted(ctx, *o.decision, err)
	}
	return *o.decision
}

func (o *operation) newRequest(ctx context.Context) (*retryablehttp.Request, error) {
	request, err := http.NewRequestWithContext(operationContext{ctx, o}, o.intent.Method, o.client.profile.BaseURL+o.intent.Path, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header = o.client.newHeader(o.intent.Key, true)
	o.exchange.body, o.exchange.timeout = o.intent.Body, o.config.timeout
	return &retryablehttp.Request{Request: request}, nil
}

// checkRetry is the one place where go-retryablehttp learns whether to go on. It looks at the exchange, not at its arguments.
func checkRetry(ctx context.Context, _ *http.Response, err error) (bool, error) {
	o := operationOf(ctx)
	if o == nil {
		return false, err
	}
	if o.exchange.answer == nil && o.exchange.err == nil {
		o.exchange.err = err // it ended above the attempt, before anything was sent
	}
	return o.decide(ctx), nil
}

// prepareRetry sleeps the wait that was planned, where it can be interrupted.
func prepareRetry(request *http.Request) error {
	ctx := request.Context()
	o := operationOf(ctx)
	if o == nil {
		return errNoExchange
	}
	if err := o.sleep(ctx); err != nil {
		return err
	}
	if o.isPastWindow(0) { // the process may have been stopped for longer than it slept
		return errKeyExpired
	}
	return nil
}

// decide judges the attempt that just ended and plans what follows.
func (o *operation) decide(ctx context.Context) bool {
	d := o.client.judge(&o.intent, &o.exchange)
	o.writes++
	o.note(ctx, AttemptWrite, &o.exchange, &d)
	isUnanswered := o.exchange.answer == nil
	o.exchange.answer, o.exchange.err = nil, nil
	if d.document != nil {
		o.document, o.status = d.document, d.status
		return false
	}
	settled, goesOn := o.follow(ctx, d, isUnanswered)
	o.decision = &settled
	return goesOn
}

// follow says what comes after an attempt without a document, and whether it is another one.
func (o *operation) follow(ctx context.Context, d decision, isUnanswered bool) (decision, bool) {
	if isUnanswered && ctx.Err() != nil {
		return o.interrupted(ctx, d, ctx.Err()), false
	}
	d = o.settle(d)
	if d.then != StepResend {
		return d, false
	}
	ended, isOver := o.plan(d)
	return ended, !isOver
}

// settle applies what earlier attempts have left open, and the operation's rule for ambiguity.
func (o *operation) settle(d decision) decision {
	if d.then == StepFind {
		d.then = o.findStep()
	}
	switch {
	case d.then == StepAmbiguous:
		d = o.followAmbiguity(d)
	case d.disposition == Refused && o.uncertain && (!d.isVerdict || o.isCalledDone):
		d = o.keepUncertain(d)
	}
	return o.overAllAttempts(d)
}

// overAllAttempts widens the decision to what is known over all attempts.
func (o *operation) overAllAttempts(d decision) decision {
	o.remember(&d)
	if o.hasReached && d.effect == NotSent {
		d.effect = NotExecuted
	}
	if o.uncertain && d.disposition == RetryLater {
		d.effect = Unknown
	}
	if o.isLost && d.disposition == RetryLater {
		d.marks = appendMark(d.marks, ErrOutcomeUnknown)
	}
	return d
}

// remember keeps what an attempt taught.
func (o *operation) remember(d *decision) {
	isUnknown := d.effect == Unknown
	o.hasReached = o.hasReached || d.effect == NotExecuted
	o.isCalledDone = o.isCalledDone || d.effect == Executed
	o.uncertain = o.uncertain || o.isCalledDone || isUnknown
	o.isLost = o.isLost || o.isCalledDone || isUnknown && !d.isInFlight()
	o.mayBeUnderWay = o.mayBeUnderWay || isUnknown && !d.hasConflict
}

// isInFlight reports an answer that says the first request is still at work: it is awaited, not lost.
func (d *decision) isInFlight() bool { return d.hasConflict && d.then == StepResend }

func (o *operation) followAmbiguity(d decision) decision {
	o.uncertain = true
	d.marks = appendMark(d.marks, ErrOutcomeUnknown)
	d.next = o.ambiguousNext()
	switch o.rules.Ambiguity {
	case AmbiguityResend:
		d.then = StepResend
	case AmbiguityLookUp:
		d.then = StepLookUp
	case AmbiguityStop:
		d.then = StepStop
		d.says = o.rules.Hint
	}
	return d
}

func (o *operation) ambiguousNext() Next {
	if o.rules.Ambiguity == AmbiguityResend {
		return NextResend
	}
	return NextReconcile
}

func (o *operation) findStep() Step {
	if o.rules.Ambiguity == AmbiguityLookUp {
		return StepLookUp
	}
	return StepResend
}

// keepUncertain is for an answer about the caller, or a reused key, after an attempt whose outcome nobody knows: it clears nothing.
func (o *operation) keepUncertain(d decision) decision {
	if slices.Contains(d.marks, ErrKeyReused) {
		d.effect, d.disposition, d.reason, d.next = Unknown, NeedsManualReview, ReasonKeyReused, NextReview
		return d
	}
	d.disposition, d.next = RetryLater, o.ambiguousNext()
	d.marks = appendMark(d.marks, ErrOutcomeUnknown)
	return d
}

// plan sets the wait before the next send or lookup, or ends the call with the time when nothing is gained by sleeping. The ladder is the
// whole budget: one step fewer than the attempts, and no write follows another without one.
func (o *operation) plan(d decision) (decision, bool) {
	wait := o.nextStep()
	if wait == backoff.Stop {
		return o.exhausted(d), true
	}
	if d.retryAfter > 0 {
		wait = d.retryAfter
	}
	if wait > o.config.maxWait || o.isPastDeadline(wait) {
		d.then, d.retryAfter = StepStop, wait
		return d, true
	}
	if d.then == StepResend && o.isPastWindow(wait) {
		return o.expired(d), true
	}
	o.wait = o.lengthen(wait)
	if o.isPastWindow(o.wait) {
		o.wait = wait // the jitter gives way here as well
	}
	return d, false
}

// exhausted ends with the wait that would have come next.
func (o *operation) exhausted(d decision) decision {
	d.then = StepStop
	if d.retryAfter == 0 {
		d.retryAfter = min(max(o.step*2, firstStep), lastStep)
	}
	return d
}

// expired ends with a person: the provider may have forgotten a key that it may have used.
func (o *operation) expired(d decision) decision {
	d.then = StepStop
	d.effect, d.disposition, d.reason, d.next = Unknown, NeedsManualReview, ReasonKeyExpired, NextReview
	d.retryAfter, d.marks = 0, appendMark(d.marks, ErrOutcomeUnknown)
	return d
}

// nextStep climbs the ladder of 1, 2, 4, 8 s, which is made when it is first needed.
func (o *operation) nextStep() time.Duration {
	if o.ladder == nil {
		exponential := backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstStep), backoff.WithMultiplier(2),
			backoff.WithRandomizationFactor(0), backoff.WithMaxInterval(lastStep), backoff.WithMaxElapsedTime(0))
		o.ladder = backoff.WithMaxRetries(exponential, uint64(o.config.maxAttempts)-1) //nolint:gosec // checked to be at least 1
	}
	step := o.ladder.NextBackOff()
	if step != backoff.Stop {
		o.step = step
	}
	return step
}

func (o *operation) isPastDeadline(wait time.Duration) bool {
	deadline, ok := o.flight.latestDeadline()
	return ok && time.Until(deadline) <= wait
}

// isPastWindow reports that a send after the wait could reach the provider when it has forgotten a key that it may have used.
func (o *operation) isPastWindow(wait time.Duration) bool {
	if !o.uncertain || o.windowEnds.IsZero() {
		return false
	}
	// The monotonic clock may stop with the machine, and the one on the wall may be set back: the later one counts.
	left := min(time.Until(o.windowEnds), time.Until(o.windowEnds.Round(0)))
	return left <= addDurations(wait, o.config.timeout)
}

// lengthen adds the jitter, which never shortens a wait, never passes the longest one, and gives way where it would cost the attempt.
func (o *operation) lengthen(wait time.Duration) time.Duration {
	if o.config.jitter == 0 {
		return wait
	}
	longer := o.config.maxWait
	if extra := rand.Float64() * o.config.jitter * float64(wait); extra < float64(o.config.maxWait-wait) { //nolint:gosec // a wait is no secret
		longer = wait + time.Duration(extra)
	}
	if o.isPastDeadline(longer) {
		return wait
	}
	return longer
}

// addDurations saturates instead of wrapping round.
func addDurations(durations ...time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range durations {
		if d > maxDuration-sum {
			return maxDuration
		}
		sum += d
	}
	return sum
}

// sleep waits as planned, with the claim renewed. The error says that the wait did not end.
func (o *operation) sleep(ctx context.Context) error {
	if ctx.Err() != nil { // an answer that was cut because the last caller left is answered like one that came in time
		return context.Cause(ctx)
	}
	if err := o.extendClaim(ctx); err != nil {
		return err
	}
	if o.client.isObserved() {
		o.client.observe(ctx, &Event{Kind: EventWait, Op: string(o.intent.Operation), Key: o.intent.Key, Wait: o.wait})
	}
	timer := time.NewTimer(o.wait)
	defer timer.Stop()
	end := time.Now().Add(o.wait)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			o.waited += o.wait
			return nil
		case <-o.flight.left: // whoever stays may have a deadline that comes before the end of the wait
			if o.isPastDeadline(time.Until(end)) {
				return errInVain
			}
		}
	}
}

var (
	errKeyExpired = errors.New("the provider may have forgotten the key")
	errInVain     = errors.New("nobody stays until the end of the wait")
)

// stopped ends with the rest of the wait that was begun.
func (o *operation) stopped(d decision) decision {
	d.then, d.retryAfter = StepStop, o.wait
	return d
}

func (o *operation) extendClaim(ctx context.Context) error {
	if !o.isClaimed {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	return o.client.config.journal.Extend(bounded, o.claim(), o.earlierWrites+o.writes, min(addDurations(o.lease(), o.wait), longestLease))
}

// longestLease keeps the end of a lease representable, whatever waits and timeouts were asked for.
const longestLease = 365 * 24 * time.Hour

func (o *operation) claim() Claim {
	return Claim{RecordID: o.intent.RecordID, Owner: o.intent.Owner, Fingerprint: o.intent.Fingerprint}
}

func (o *operation) lease() time.Duration {
	return min(addDurations(o.config.timeout, o.config.maxWait, leaseMargin), longestLease)
}

// interrupted ends the call because its caller is gone or its claim is, and keeps what the last answer said.
func (o *operation) interrupted(ctx context.Context, d decision, err error) decision {
	o.uncertain = o.uncertain || d.effect == Unknown
	d.then, d.disposition, d.document = StepStop, RetryLater, nil
	d.next, d.reason = NextResend, ""
	d.err = err
	switch {
	case ctx.Err() != nil:
		d.err, d.detail = context.Cause(ctx), "the caller's context ended"
	case errors.Is(err, ErrClaimLost):
		d.detail = "another process has taken the operation over"
	default:
		d.detail = "the journal could not renew the claim"
		d.marks = appendMark(d.marks, ErrNotRecorded)
	}
	if o.uncertain {
		d.effect, d.next = Unknown, o.ambiguousNext()
		d.marks = appendMark(d.marks, ErrOutcomeUnknown)
	}
	return d
}

// note records an attempt for the error and tells the observer.
func (o *operation) note(ctx context.Context, kind AttemptKind, x *exchange, d *decision) {
	attempt := Attempt{
		Kind: kind, At: x.started, Duration: x.duration, Waited: o.waited, Effect: d.effect,
		HTTPStatus: d.status, Code: d.code, RequestID: d.requestID,
	}
	if x.answer == nil {
		attempt.Err = withoutURL(x.err)
	}
	o.waited = 0
	if x.answer != nil && d.document == nil {
		last := d.evidence
		o.last = &last
	}
	o.mu.Lock()
	if o.attempts == nil {
		o.attempts = o.first[:0]
	}
	attempt.Number = len(o.attempts) + 1
	o.attempts = append(o.attempts, attempt)
	o.mu.Unlock()
	if o.client.isObserved() {
		shown := attempt
		o.client.observe(ctx, &Event{Kind: EventAttempt, Op: string(o.intent.Operation), Key: o.intent.Key, Attempt: &shown})
	}
}

func appendMark(marks []error, mark error) []error {
	if slices.Contains(marks, mark) {
		return marks
	}
	return append(marks, mark)
}
