package unavez

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
)

// Reconcile finds out what became of a key of any operation, in the way that the provider documents.
//
// Where the provider has a lookup it is asked once, and what it shows is adopted only if it repeats the key (or the identity
// of [WithReference]): a document is returned; pending is [RetryLater]; failed, never arrived, an unknown status,
// somebody else's row and more than one row are [NeedsManualReview] with the reason. Where the provider has none, the
// journal's recorded bytes are sent again under the recorded key, which the page documents as safe: inside the
// provider's retention, never for an operation that waits for a person, and not with [WithLookupOnly].
//
// A lookup that fails, or whose answer teaches nothing, is [RetryLater] with [ErrOutcomeUnknown]. A key that the
// journal holds as done is answered from there.
func (c *Client) Reconcile(ctx context.Context, key string, options ...CallOption) (*Outcome, error) {
	doc, err := c.reconcile(ctx, "", key, options)
	return asOutcome(doc), err.orNil()
}

func (c *Client) reconcile(ctx context.Context, name OperationName, key string, options []CallOption) (*document, *Error) {
	o, err := c.newOperation(ctx, name, options)
	if err != nil {
		return nil, err
	}
	if err := c.profile.Key.Check(key); err != nil {
		return nil, c.refusal(name, key, "idempotency key "+err.Error(), ErrKeyInvalid)
	}
	if !c.supportsKind(name) {
		return nil, c.unsupported(name)
	}
	o.intent = Intent{
		RecordID: c.RecordID(key), Environment: c.config.environment, Identity: keyIdentity(key), Operation: name, Reconciling: true, Owner: c.owner,
	}
	return c.perform(ctx, o)
}

func (c *Client) supportsKind(name OperationName) bool {
	if name == "" {
		return true
	}
	for supported := range c.profile.Operations {
		if supported.kind() == name.kind() {
			return true
		}
	}
	return false
}

// await repeats reconcile while it answers RetryLater, and ends with the context or with a wait that must not be slept.
func (c *Client) await(ctx context.Context, name OperationName, key string, options []CallOption) (*document, *Error) {
	waiter, err := c.newOperation(ctx, name, options)
	if err != nil {
		return nil, err
	}
	waiter.intent.Key, waiter.config.maxAttempts = key, math.MaxInt32
	waiter.flight = &flight{}
	waiter.flight.board(ctx, waiter)
	for {
		doc, err := c.reconcile(ctx, name, key, options)
		if doc != nil || err == nil {
			return doc, err
		}
		hasAsked := len(err.Attempts) > 0 || err.isHeld
		err.Attempts = waiter.countIn(err.Attempts)
		if err.Disposition != RetryLater || !hasAsked || ctx.Err() != nil {
			return nil, err
		}
		wait := max(waiter.nextStep(), err.RetryAfter)
		if wait > waiter.config.maxWait || waiter.isPastDeadline(wait) {
			err.setRetry(wait)
			return nil, err
		}
		waiter.wait = waiter.lengthen(wait)
		if waiter.sleep(ctx) != nil {
			err.Err = context.Cause(ctx)
			return nil, err
		}
	}
}

// countIn keeps the attempts of every round, numbered through, with the wait before each round.
func (o *operation) countIn(round []Attempt) []Attempt {
	for i, attempt := range round {
		attempt.Number = len(o.attempts) + 1
		if i == 0 {
			attempt.Waited = o.waited
		}
		o.attempts = append(o.attempts, attempt)
	}
	o.waited = 0
	return slices.Clone(o.attempts)
}

// reconcile asks for the record's key, or sends its bytes again where asking is not documented.
func (o *operation) reconcile(ctx context.Context, record *Record) decision {
	request, err := o.encodeLookup()
	switch {
	case err == nil:
		return o.concludeFor(record, o.lookUp(ctx, &request))
	case !errors.Is(err, errors.ErrUnsupported):
		return o.unlearned(decision{}, fieldProblem(err)) // a wrong question says nothing about the write
	case record.State == StateReview:
		return o.client.recordedDecision(record)
	case o.config.lookupOnly:
		d := o.unlearned(decision{}, "the provider documents no lookup, and WithLookupOnly forbids sending the request again")
		d.next = NextReconcile
		return d
	case len(o.intent.Body) == 0:
		return decision{
			effect: Unknown, disposition: NeedsManualReview, reason: ReasonNoRecord, next: NextReview,
			detail: "the journal no longer has the bytes of the request",
		}
	}
	o.intent.Reconciling = false
	return o.proceed(ctx, &Record{Admission: AdmitResume})
}

// concludeFor does not let an empty list clear what an earlier look has shown: the two contradict each other.
func (o *operation) concludeFor(record *Record, found finding) decision {
	d := o.conclude(found)
	if found.state != foundEmpty || record.State != StateReview {
		return d
	}
	switch record.Result.Reason {
	case ReasonFailed, ReasonUnknownStatus, ReasonKeyMismatch, ReasonDuplicate, ReasonContradiction, ReasonStampedBefore:
		d.disposition, d.reason, d.next = NeedsManualReview, ReasonContradiction, NextReview
		d.detail = "the provider's list is empty, and an earlier answer about this key still waits for a person"
	default:
	}
	return d
}

func (o *operation) encodeLookup() (Request, error) {
	finder, ok := o.client.provider.(Finder)
	if !ok {
		return Request{}, errors.ErrUnsupported
	}
	query := Query{Operation: o.intent.Operation, Key: o.intent.Key, Path: o.intent.Path, Body: o.intent.Body}
	if o.config.reference != nil {
		query.Reference = *o.config.reference
	}
	return finder.EncodeLookup(query)
}

// lookUp asks once.
func (o *operation) lookUp(ctx context.Context, request *Request) finding {
	x := o.client.get(ctx, request, o.config.timeout)
	found := o.client.read(&o.intent, &request.Rows, x)
	noted := found.answer
	noted.effect = NotExecuted
	o.note(ctx, AttemptLookup, x, &noted)
	if x.answer == nil && ctx.Err() != nil {
		found.answer.err = context.Cause(ctx)
	}
	return found
}

const (
	detailPending = "the provider's record says that it is still in flight"
	detailEmpty   = "the provider's list is empty"

	detailFailedBefore = "the record that says failed may be from before this try, whose own outcome is unknown; only the same request may be tried again"
)

// conclude is the only code that maps a found state to an answer.
func (o *operation) conclude(found finding) decision {
	d := found.answer
	d.then, d.effect, d.uuid, d.uuids, d.marks, d.says = StepStop, Unknown, found.uuid, found.uuids, nil, ""
	switch found.state {
	case foundDone:
		return d.done(found.document)
	case foundPending:
		d.disposition, d.next, d.detail = RetryLater, NextReconcile, detailPending
		return d
	case foundFailed:
		return o.failed(d, found.mayBeOld)
	case foundEmpty:
		if !o.rules.EmptyProves {
			return o.unlearned(found.answer, detailEmpty+", which its page does not document as proof for this operation")
		}
		d.disposition, d.reason, d.next = NeedsManualReview, ReasonNeverArrived, NextResend
		if o.uncertain && o.isPastWindow(0) {
			d.next, d.detail = NextReview, detailEmpty+", but the key is past the provider's retention and protects nothing"
		}
		return d
	case foundUnknownWord:
		d.disposition, d.reason, d.next = NeedsManualReview, ReasonUnknownStatus, NextReview
		return d
	case foundMismatch:
		d.disposition, d.reason, d.next = NeedsManualReview, ReasonKeyMismatch, NextReview
		return d
	case foundDuplicate:
		d.disposition, d.reason, d.next = NeedsManualReview, ReasonDuplicate, NextReview
		if len(found.uuids) > 0 {
			d.effect, d.uuid = Executed, found.uuids[0]
		}
		return d
	case foundContradiction:
		d.disposition, d.reason, d.next = NeedsManualReview, ReasonContradiction, NextReview
		return d
	case foundNoProof:
		return o.unlearned(found.answer, "the provider's record does not prove the outcome")
	case foundNothing:
	}
	return o.unlearned(found.answer, "the lookup taught nothing")
}

// failed is for a row that says so. After another try whose own outcome nobody knows it may be from before that try, which may still be
// under way: the same bytes may be tried once more, since the key guards them, and others must not take their place.
func (o *operation) failed(d decision, mayBeOld bool) decision {
	d.disposition, d.reason = NeedsManualReview, ReasonFailed
	if mayBeOld && o.mayBeUnderWay {
		d.next, d.marks, d.detail = NextReview, []error{ErrOutcomeUnknown}, detailFailedBefore
		return d
	}
	d.effect, d.next, d.says = NotExecuted, o.rules.FailedNext, o.rules.FailedHint
	return d
}

// unlearned is for a lookup after which nobody knows more than before.
func (o *operation) unlearned(answer decision, detail string) decision {
	marks := []error{ErrOutcomeUnknown}
	if slices.Contains(answer.marks, ErrUnauthorized) {
		marks = append(marks, ErrUnauthorized)
	}
	if answer.detail != "" {
		detail += ": " + answer.detail
	}
	answer.then, answer.effect, answer.disposition, answer.reason = StepStop, Unknown, RetryLater, ""
	answer.next, answer.marks, answer.detail, answer.says = NextReconcile, marks, detail, o.rules.Hint
	answer.keepsRecord = true
	return answer
}

// lookUpUntilKnown follows a write whose outcome nobody knows, at a provider that is asked first. It ends with an answer, or with
// StepResend when the page says that the key never arrived and the budget has a write left.
func (o *operation) lookUpUntilKnown(ctx context.Context, lost decision) decision {
	request, err := o.encodeLookup()
	if err != nil {
		d := o.unlearned(lost, "this operation cannot be looked up")
		d.keepsRecord = false
		return d
	}
	d := o.askUntilKnown(ctx, &request, lost)
	if d.document == nil && lost.effect == Executed {
		return d.afterStampedBefore(lost)
	}
	return d
}

// afterStampedBefore keeps what an answer said that calls it done, whatever the lookups teach; a record that calls it failed
// contradicts it.
func (d *decision) afterStampedBefore(lost decision) decision {
	d.uuid, d.effect = cmp.Or(d.uuid, lost.uuid), Executed
	d.marks = slices.DeleteFunc(d.marks, func(mark error) bool { return mark == ErrOutcomeUnknown }) //nolint:errorlint // marks are not wrapped
	if d.reason == ReasonFailed {
		d.reason, d.next, d.says = ReasonContradiction, NextReview, ""
	}
	return *d
}

func (o *operation) askUntilKnown(ctx context.Context, request *Request, lost decision) decision {
	if ctx.Err() != nil { // an answer that was cut when the last caller left
		return o.interrupted(ctx, lost, ctx.Err())
	}
	if lost.retryAfter > 0 {
		if ended, isOver := o.pause(ctx, lost); isOver {
			return ended
		}
	}
	var before foundState
	for {
		found := o.lookUp(ctx, request)
		d := o.conclude(found)
		switch {
		case d.document != nil, ctx.Err() != nil:
			return o.orInterrupted(ctx, d)
		case found.isWorthAsking(before):
			before = found.state
			if ended, isOver := o.pause(ctx, d.asking(found.state)); isOver {
				return ended
			}
			continue
		case found.state == foundEmpty && o.rules.EmptyProves:
			return o.afterEmpty(lost, d)
		}
		d.keepsRecord = false
		return d
	}
}

// isWorthAsking reports whether a second look may show more: while it is pending, after a lookup that failed in passing, and once
// after an empty list, or after a failed row that may be the one from before this attempt.
func (f *finding) isWorthAsking(before foundState) bool {
	switch f.state {
	case foundPending:
		return true
	case foundEmpty:
		return before != foundEmpty
	case foundFailed:
		return f.mayBeOld && before != foundFailed
	case foundNothing:
		return f.answer.then == StepResend || f.answer.then == StepAmbiguous
	default:
		return false
	}
}

// asking is what the call ends with if there is no time to look again.
func (d *decision) asking(state foundState) decision {
	d.keepsRecord = false
	if state == foundEmpty || state == foundFailed {
		d.disposition, d.effect, d.reason, d.next = RetryLater, Unknown, "", NextReconcile
		d.marks = appendMark(d.marks, ErrOutcomeUnknown)
		d.detail = "the provider's record was not looked at a second time"
	}
	return *d
}

// afterEmpty decides once an empty list was seen twice.
func (o *operation) afterEmpty(lost, empty decision) decision {
	switch {
	case lost.hasConflict:
		empty.reason, empty.next = ReasonContradiction, NextReconcile
		empty.detail = "the provider reported a conflict for this key and lists nothing under it"
		return empty
	case lost.effect == Executed:
		empty.reason, empty.next = ReasonStampedBefore, NextReview
		return empty
	}
	return decision{then: StepResend}
}

// pause waits before another lookup, or says how the call ends when it must not.
func (o *operation) pause(ctx context.Context, d decision) (decision, bool) {
	ended, isOver := o.plan(d)
	if isOver {
		return ended, true
	}
	switch err := o.sleep(ctx); {
	case errors.Is(err, errInVain):
		return o.stopped(d), true
	case err != nil:
		return o.interrupted(ctx, d, err), true
	}
	return d, false
}

func (o *operation) orInterrupted(ctx context.Context, d decision) decision {
	if d.document != nil {
		return d
	}
	return o.interrupted(ctx, d, ctx.Err())
}

// reconcileUnrecorded asks for a key that this journal does not know, which only a lookup can answer.
func (o *operation) reconcileUnrecorded(ctx context.Context) (*document, *Error) {
	if o.intent.Operation == "" { // of which kind it was is not known either, so an empty list proves nothing
		o.intent.Operation = InvoiceCreate
		o.setRules(&OperationRules{Ambiguity: AmbiguityLookUp, FailedNext: NextReview})
	}
	request, err := o.encodeLookup()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, o.client.refusal(o.intent.Operation, o.intent.Key, fieldProblem(err), nil)
	}
	if err != nil {
		return nil, o.newError(decision{
			effect: Unknown, disposition: NeedsManualReview, reason: ReasonNoRecord, next: NextReview,
		})
	}
	d := o.conclude(o.lookUp(ctx, &request))
	if d.document == nil && ctx.Err() != nil {
		d = o.interrupted(ctx, d, ctx.Err())
	}
	return d.document, o.newError(d)
}

// find reads a document by its identity, with the client's waits: a read may be repeated.
func (c *Client) find(ctx context.Context, reference InvoiceRef, options []CallOption) (*document, *Error) {
	const name = invoiceFind
	o, failed := c.newOperation(ctx, name, options)
	if failed != nil {
		return nil, failed
	}
	if err := checkParams(reference); err != nil {
		return nil, c.refuseParams(name, "", err)
	}
	if reference == (InvoiceRef{}) {
		return nil, c.refuseParams(name, "", Unsupported("InvoiceRef", "is empty, expected what identifies the document"))
	}
	finder, ok := c.provider.(Finder)
	if !ok {
		return nil, c.unsupported(name)
	}
	request, err := finder.EncodeLookup(Query{Reference: reference})
	if err != nil {
		return nil, c.refuseParams(name, "", err)
	}
	request.Rows.Words, request.Rows.Proof = nil, ProofObject // a read answers whatever the status
	o.flight = &flight{}
	o.flight.board(ctx, o)
	return o.findUntilRead(ctx, &request)
}

func (o *operation) findUntilRead(ctx context.Context, request *Request) (*document, *Error) {
	for {
		found := o.lookUp(ctx, request)
		d := found.answer
		d.effect = NotExecuted
		switch {
		case found.state == foundDone:
			return found.document, nil
		case ctx.Err() == nil && (d.then == StepResend || d.then == StepAmbiguous):
			d.marks, d.next, d.disposition = nil, NextResend, RetryLater
			if ended, isOver := o.pause(ctx, d); isOver {
				return nil, o.newError(ended)
			}
			continue
		}
		return nil, o.newError(o.unread(ctx, found))
	}
}

// unread says why a read has no document.
func (o *operation) unread(ctx context.Context, found finding) decision {
	d := found.answer
	d.effect = NotExecuted
	switch {
	case ctx.Err() != nil:
		d.disposition, d.next, d.err = RetryLater, NextResend, context.Cause(ctx)
	case found.state == foundEmpty:
		d.disposition, d.next, d.marks = Refused, "", []error{ErrNotFound}
	case found.state == foundNothing && d.disposition == Refused:
	case found.state == foundNothing:
		d.disposition, d.next, d.marks = RetryLater, NextResend, nil
	default:
		conclusion := o.conclude(found)
		d.disposition, d.reason, d.next = NeedsManualReview, conclusion.reason, NextReview
		if d.reason == "" {
			d.reason = ReasonUnknownStatus
		}
	}
	return d
}
