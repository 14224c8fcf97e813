package unavez

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Prepare validates an operation, derives its key and encodes its body, once: what [Client.Send] will send, byte for byte. It does no I/O.
// A durable journal can record the result in the caller's own transaction, so that a sale and the intent to stamp
// it are committed together. The error is an [*Error] with the disposition [Refused].
func (c *Client) Prepare(operation *Operation, options ...CallOption) (Intent, error) {
	if operation == nil {
		return Intent{}, c.refuseNil("prepare", "operation")
	}
	o, err := c.newOperation(context.Background(), operation.Name, options)
	if err != nil {
		return Intent{}, err
	}
	params, isSet := operation.params()
	if !isSet {
		return Intent{}, c.refuseNil(operation.Name, "params")
	}
	if err := o.prepare(operation, params); err != nil {
		return Intent{}, err
	}
	return o.intent, nil
}

// Send performs an intent that [Client.Prepare] made, in this process or, through a durable journal, in an earlier one. It
// keeps every promise of Create: one key is one effect.
func (c *Client) Send(ctx context.Context, intent Intent, options ...CallOption) (*Outcome, error) {
	o, err := c.newOperation(ctx, intent.Operation, options)
	if err != nil {
		return nil, err
	}
	if intent.RecordID != c.RecordID(intent.Key) {
		return nil, c.refusal(intent.Operation, intent.Key, "the intent belongs to another provider, account or environment", nil)
	}
	if err := c.profile.Key.Check(intent.Key); err != nil {
		return nil, c.refusal(intent.Operation, intent.Key, "idempotency key "+err.Error(), ErrKeyInvalid)
	}
	if intent.Fingerprint != Fingerprint(intent.Operation, intent.Method, intent.Path, intent.Body) {
		return nil, c.refusal(intent.Operation, intent.Key, "the bytes of the intent are not those that were prepared", nil)
	}
	request := Request{Method: intent.Method, Path: intent.Path, Body: intent.Body, Proof: intent.Proof}
	if checkRequest(&request) != nil {
		return nil, c.refusal(intent.Operation, intent.Key, "the intent is not one that was prepared", nil)
	}
	intent.Owner, intent.Reconciling = c.owner, false
	intent.Body = slices.Clone(intent.Body)
	o.intent = intent
	doc, err := c.perform(ctx, o)
	return asOutcome(doc), err.orNil()
}

// Do performs an operation that the SDK has no types for, once, with the guarantees of every other write. The caller names it (a free
// text, part of what makes the key one operation), its path and its whole body; nothing is guessed. The answer must hold a
// fiscal UUID to count as success. Which provider takes such operations is in docs/providers.md; the others answer an error that
// matches [errors.ErrUnsupported].
func (c *Client) Do(ctx context.Context, params *RawParams, options ...CallOption) (*Outcome, error) {
	if params == nil {
		return nil, c.refuseNil(RawOperation, "params")
	}
	doc, err := c.write(ctx, &Operation{Name: cmp.Or(params.Operation, RawOperation), Raw: params}, params, options)
	return asOutcome(doc), err.orNil()
}

var errNilContext = errors.New("unavez: ctx is nil")

// Record returns what the journal knows of the key: its state, its history, how often it was sent. [ErrNoRecord] if nothing.
func (c *Client) Record(ctx context.Context, key string) (Record, error) {
	if ctx == nil {
		return Record{}, errNilContext
	}
	return c.config.journal.Load(ctx, c.RecordID(key))
}

// Resolve records what a person decided about a key in review, and why. It sends nothing: a call with the same key may go on
// afterwards as [Resolution] says. [ErrNoRecord] and [ErrNotInReview] as in [Journal].
func (c *Client) Resolve(ctx context.Context, key string, resolution Resolution) error {
	if ctx == nil {
		return errNilContext
	}
	return c.config.journal.Resolve(ctx, c.RecordID(key), resolution)
}

// params returns the parameters that the operation's name asks for, and whether they are there.
func (o *Operation) params() (any, bool) {
	switch o.Name {
	case InvoiceCreate:
		return o.Invoice, o.Invoice != nil
	case InvoiceStampXML:
		return o.StampXML, o.StampXML != nil
	case InvoiceCancel, PaymentCancel:
		return o.Cancel, o.Cancel != nil
	case PaymentCreate:
		return o.Payment, o.Payment != nil
	case PaymentStamp:
		return o.PaymentID, o.PaymentID != ""
	case RetentionCreate:
		return o.Retention, o.Retention != nil
	case PayoutCreate:
		return o.Payout, o.Payout != nil
	default:
		return o.Raw, o.Raw != nil
	}
}

// write is the way of every service call.
func (c *Client) write(ctx context.Context, operation *Operation, params any, options []CallOption) (*document, *Error) {
	o, err := c.newOperation(ctx, operation.Name, options)
	if err != nil {
		return nil, err
	}
	if err := o.prepare(operation, params); err != nil {
		return nil, err
	}
	o.mayHaveTwin = operation.Invoice != nil
	doc, err := c.perform(ctx, o)
	if !o.mayHaveTwin || !err.isReusedInJournal() {
		return doc, err
	}
	twin, newErr := c.newOperation(ctx, operation.Name, options)
	if newErr != nil || !twin.addTwin(operation, &o.intent) {
		if o.flight != nil { // it is of this call, and has kept the event back
			c.observeFinished(ctx, o, o.intent.Operation, err)
		}
		return doc, err
	}
	return c.perform(ctx, twin)
}

// addTwin makes the intent one that also knows its twin: the same invoice with the other decision about a failed key, which is no other
// document. That is asked for late, since hardly any call has one.
func (o *operation) addTwin(operation *Operation, intent *Intent) bool {
	invoice, other := *operation.Invoice, *operation
	invoice.AllowRetryOnFailed = !invoice.AllowRetryOnFailed
	other.Invoice = &invoice
	request, err := o.client.provider.Encode(&other)
	if err != nil {
		return false
	}
	o.intent = *intent
	o.intent.Twin = Fingerprint(other.Name, request.Method, request.Path, request.Body)
	return o.intent.Twin != o.intent.Fingerprint
}

// prepare fills in the intent: the key, the frozen bytes and their fingerprint.
func (o *operation) prepare(operation *Operation, params any) *Error {
	c := o.client
	if _, supported := c.rulesFor(operation); !supported {
		return c.unsupported(operation.Name)
	}
	key, identity, err := c.resolveKey(operation.Name, &o.config)
	if err != nil {
		return err
	}
	if operation.Raw != nil && !operation.Name.isFree() {
		return c.refuseParams(operation.Name, key, Unsupported("Operation", "is empty or a name of the SDK's own, expected a name for the write"))
	}
	if err := checkParams(params); err != nil {
		return c.refuseParams(operation.Name, key, err)
	}
	operation.Key = key
	request, encodeErr := c.provider.Encode(operation)
	if encodeErr != nil {
		return c.refuseParams(operation.Name, key, encodeErr)
	}
	if err := checkRequest(&request); err != nil {
		return c.refuseParams(operation.Name, key, err)
	}
	o.intent = Intent{
		RecordID: c.RecordID(key), Environment: c.config.environment, Identity: identity,
		Operation: operation.Name, Method: request.Method, Path: request.Path, Body: request.Body, Proof: request.Proof,
		RetriesFailed: request.RetriesFailed, Owner: c.owner,
	}
	o.intent.Fingerprint = Fingerprint(operation.Name, request.Method, request.Path, request.Body)
	return nil
}

// rulesFor returns the rules of the operation; those of raw operations are listed under one name.
func (c *Client) rulesFor(operation *Operation) (OperationRules, bool) {
	name := operation.Name
	if operation.Raw != nil {
		name = RawOperation
	}
	rules, ok := c.profile.Operations[name]
	return rules, ok
}

func (c *Client) rulesByName(name OperationName) *OperationRules {
	if rules, ok := c.operations[name]; ok {
		return rules
	}
	return c.operations[RawOperation]
}

// resolveKey returns the key as sent, and the identity by which the same record is found at another provider.
func (c *Client) resolveKey(operation OperationName, config *callConfig) (key, identity string, err *Error) {
	switch {
	case config.hasKey && config.hasDomain:
		return "", "", c.refusal(operation, "", "WithIdempotencyKey and WithDomainID are both given, expected one", ErrKeyInvalid)
	case config.hasKey:
		if err := c.profile.Key.Check(config.key); err != nil {
			return "", "", c.refusal(operation, config.key, "idempotency key "+err.Error(), ErrKeyInvalid)
		}
		return config.key, keyIdentity(config.key), nil
	case !config.hasDomain:
		return "", "", c.refusal(operation, "", "expected WithIdempotencyKey or WithDomainID", ErrNoIdempotencyKey)
	case c.config.namespace == "" || c.config.environment == "":
		return "", "", c.refusal(operation, "", "WithDomainID needs a client with WithNamespace and WithEnvironment", ErrNoIdempotencyKey)
	}
	key, deriveErr := c.deriveKey(config.kind, config.id, c.profile.Key.Max)
	if deriveErr != nil {
		return "", "", c.refusal(operation, "", deriveErr.Error(), ErrKeyInvalid)
	}
	if checkErr := c.profile.Key.Check(key); checkErr != nil {
		return "", "", c.refusal(operation, key, "derived idempotency key "+checkErr.Error(), ErrKeyInvalid)
	}
	return key, keyIdentity(key), nil
}

// checkRequest guards what every provider's encoding must hold.
func checkRequest(request *Request) error {
	switch {
	case request.Method == "" || request.Method == http.MethodGet:
		return errors.New("the provider encoded a write without a method that writes")
	case !strings.HasPrefix(request.Path, "/"):
		return errors.New("the provider encoded a path without a leading slash")
	case request.Proof == "":
		return errors.New("the provider encoded a write without saying what proves its success")
	case !utf8.Valid(request.Body):
		return errors.New("the body is not valid UTF-8")
	}
	if !isObject(request.Body) {
		return errors.New("the body is not one JSON object")
	}
	return nil
}

// run takes the intent through the journal and, where it admits it, on the wire.
func (o *operation) run(ctx context.Context) (*document, *Error) {
	c := o.client
	o.setRules(c.rulesByName(o.intent.Operation))
	o.intent.Lease, o.intent.Retention = o.lease(), o.rules.Retention
	record, err := c.config.journal.Begin(ctx, o.intent)
	switch {
	case err != nil:
		return nil, c.journalError(ctx, &o.intent, err)
	case record.Admission == AdmitNothing:
		return o.reconcileUnrecorded(ctx)
	case !record.Admission.Claims():
		return c.answerRecorded(&record, &o.intent)
	}
	o.isClaimed = true
	o.adopt(&record)
	d := o.proceed(ctx, &record)
	return o.finish(ctx, &record, d)
}

// adopt takes over what the record knows: earlier attempts, and how much of the provider's memory is left.
func (o *operation) adopt(record *Record) {
	isTwin := record.Admission == AdmitResume && !o.intent.Reconciling && record.Fingerprint != o.intent.Fingerprint
	if isTwin && len(record.Body) == 0 {
		o.intent.Reconciling = true // what cannot be sent again can still be asked for
	}
	if o.intent.Reconciling || isTwin { // the recorded request goes on, whoever asks
		o.intent.Operation, o.intent.Method, o.intent.Path = record.Operation, record.Method, record.Path
		o.intent.Body, o.intent.Proof, o.intent.Identity = record.Body, record.Proof, record.Identity
		o.intent.Fingerprint = record.Fingerprint
		o.setRules(o.client.rulesByName(record.Operation))
	}
	o.isReconcile = o.intent.Reconciling
	o.uncertain = record.MayBeExecuted() && record.isOf(&o.intent)
	o.isLost, o.mayBeUnderWay = o.uncertain, o.uncertain
	o.hasReached = record.Result.Effect == NotExecuted
	o.earlierWrites = record.Writes
	if o.rules.Retention == Forever || o.rules.Retention == 0 {
		return
	}
	o.windowEnds = time.Now().Add(o.rules.Retention - windowMargin)
	if record.KeepsFirstSent(&o.intent) {
		o.windowEnds = o.windowEnds.Add(-record.Age)
	}
}

func (o *operation) setRules(rules *OperationRules) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rules = rules
}

// proceed sends or finds out, until nothing is left to do.
func (o *operation) proceed(ctx context.Context, record *Record) decision {
	if o.intent.Reconciling {
		return o.reconcile(ctx, record)
	}
	d := decision{then: StepResend}
	if record.Admission == AdmitResume {
		d = o.resume()
	}
	for {
		switch {
		case d.then == StepLookUp:
			d = o.lookUpUntilKnown(ctx, d)
		case d.then == StepResend && o.isPastWindow(0):
			return o.expired(decision{})
		case d.then == StepResend:
			d = o.send(ctx)
		default:
			return d
		}
	}
}

// resume is where a call begins that finds an earlier attempt unresolved.
func (o *operation) resume() decision {
	d := o.followAmbiguity(decision{effect: Unknown, disposition: RetryLater, detail: "an earlier attempt has an unknown outcome"})
	if o.rules.Ambiguity == AmbiguityStop {
		d.disposition, d.reason, d.next = NeedsManualReview, ReasonOutcomeUnknown, NextReview
	}
	return d
}

// finish records the outcome and only then tells it.
func (o *operation) finish(ctx context.Context, record *Record, d decision) (*document, *Error) {
	err := o.newError(d)
	result := o.newResult(record, d, err)
	finishErr := o.record(ctx, result)
	switch {
	case finishErr == nil:
		return d.document, err
	case errors.Is(finishErr, ErrClaimLost) && d.document == nil:
		return o.takenOver(ctx)
	}
	if err == nil {
		err = o.newError(decision{effect: Executed, disposition: RetryLater, next: NextReconcile})
	}
	err.detail = "the journal could not record the outcome"
	err.mark(ErrNotRecorded)
	if err.Err == nil {
		err.Err = finishErr
	}
	return d.document, err
}

// takenOver is for a call whose claim ran out while it was at work, so that another process went on: its answer counts, and
// what this call saw says nothing about what the other one has sent.
func (o *operation) takenOver(ctx context.Context) (*document, *Error) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	record, err := o.client.config.journal.Load(bounded, o.intent.RecordID)
	if err == nil && record.State == StateDone && record.Fingerprint == o.intent.Fingerprint {
		return o.client.recordedDocument(&record)
	}
	return nil, o.newError(decision{
		effect: Unknown, disposition: RetryLater, next: NextReconcile, marks: []error{ErrOutcomeUnknown},
		detail: "the claim ran out, and another process has taken the operation over",
	})
}

// recordTimeout bounds how long the outcome waits for the journal; the caller's own context may have ended long ago.
const recordTimeout = 30 * time.Second

func (o *operation) record(ctx context.Context, result Result) error {
	ctx = context.WithoutCancel(ctx)
	if _, neverWaits := o.client.config.journal.(*MemoryJournal); !neverWaits {
		bounded, cancel := context.WithTimeout(ctx, recordTimeout)
		defer cancel()
		ctx = bounded
	}
	return o.client.config.journal.Finish(ctx, o.claim(), result)
}

func (o *operation) newResult(record *Record, d decision, err *Error) Result {
	result := Result{Writes: record.Writes + o.writes}
	isDuplicate := o.isReconcile && record.State == StateReview && record.Result.Reason == ReasonDuplicate
	if d.document != nil && !isDuplicate {
		result.State, result.Effect = StateDone, Executed
		result.HTTPStatus, result.RequestID = d.status, d.document.requestID
		result.Document, result.Replayed = d.document.raw, d.document.replayed
		return result
	}
	if o.isReconcile && o.writes == 0 && o.keeps(record, &d) {
		result = record.Result
		result.State, result.Writes = record.State, record.Writes
		return result
	}
	result.HTTPStatus, result.Code, result.RequestID = err.HTTPStatus, err.Code, err.RequestID
	result.Effect, result.Disposition, result.Reason, result.Next = err.Effect, err.Disposition, err.Reason, err.Next
	switch err.Disposition {
	case Refused:
		result.State = StateRefused
	case NeedsManualReview:
		result.State = StateReview
	case RetryLater:
		result.State = StateOpen
	}
	return result
}

// keeps reports whether a look at a record leaves it as it is: because nothing was learned, or because it waits for a person, whom
// only a document relieves. A key that never arrived waits for the caller alone.
func (o *operation) keeps(record *Record, d *decision) bool {
	learned := !d.keepsRecord && (d.disposition != RetryLater || d.detail == detailPending)
	return !learned || record.State == StateReview && record.Result.Reason != ReasonNeverArrived
}

// answerRecorded answers from the record, without I/O.
func (c *Client) answerRecorded(record *Record, intent *Intent) (*document, *Error) {
	switch record.Admission {
	case AdmitHeld:
		return nil, c.heldError(record, intent)
	case AdmitReused:
		disposition := NeedsManualReview
		if record.Resolved() {
			disposition = Refused
		}
		err := c.reusedError(intent, disposition)
		if intent.Reconciling {
			kind := strconv.Quote(string(record.Operation))
			err.detail = "the journal holds this key for another kind of write, " + kind + ", of which Client.Reconcile tells"
		}
		return nil, err
	case AdmitElsewhere:
		err := c.newError(intent, NeedsManualReview, Unknown, NextReview)
		err.Reason, err.detail = ReasonOtherProvider, "nothing was sent to this provider"
		return nil, err
	case AdmitAnswer, AdmitSend, AdmitResume, AdmitNothing:
	}
	if record.State == StateDone {
		return c.recordedDocument(record)
	}
	return nil, c.recordedError(record)
}

func (c *Client) recordedDocument(record *Record) (*document, *Error) {
	object, ok := ParseObject(record.Result.Document)
	if !ok {
		err := c.newError(&Intent{RecordID: record.RecordID, Operation: record.Operation}, NeedsManualReview, Executed, NextReview)
		err.Reason, err.detail = ReasonContradiction, "the record is done and its document cannot be read"
		return nil, err
	}
	return &document{
		operation: record.Operation, fields: c.profile.Document.readDocument(object), key: record.Key,
		replayed: record.Result.Replayed, requestID: record.Result.RequestID, raw: slices.Clone(record.Result.Document),
	}, nil
}
