package unavez

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// decision is what one attempt, or one lookup, means: a row of a table filled in with what the answer said.
type decision struct {
	evidence

	effect      Effect
	then        Step
	disposition Disposition
	next        Next
	reason      Reason
	marks       []error
	says        string
	detail      string

	retryAfter time.Duration
	uuid       string
	uuids      []string
	document   *document
	err        error
	// keepsRecord says that nothing was learned: the journal's record stays as it is.
	keepsRecord bool
	// isVerdict says that the provider judged the payload, in an envelope of its own.
	isVerdict bool
	// hasConflict says that the answer was a conflict, which an empty list contradicts.
	hasConflict bool
}

func (d *decision) apply(rule *Rule) {
	d.effect, d.then, d.disposition = rule.Effect, rule.Then, rule.Disposition
	d.next, d.reason, d.says = rule.Next, rule.Reason, rule.Says
	if rule.Marks != nil {
		d.marks = append(d.marks, rule.Marks)
	}
	if rule.Word != "" {
		d.detail = "the provider's status is " + rule.Word
	}
	d.isVerdict = rule.AboutPayload && (rule.Word != "" || d.code != "" || len(d.fieldErrors) > 0)
}

// judge turns one attempt into a decision. It knows the tables and nothing of time, budgets or earlier attempts.
func (c *Client) judge(intent *Intent, x *exchange) decision {
	switch {
	case x.answer == nil:
		return c.judgeTransport(x)
	case x.answer.Status >= 200 && x.answer.Status < 300:
		return c.judgeSuccess(intent, x.answer)
	}
	return c.judgeFailure(x.answer)
}

func (c *Client) judgeTransport(x *exchange) decision {
	d := decision{effect: NotSent, then: StepResend, disposition: RetryLater, next: NextResend, err: withoutURL(x.err)}
	switch {
	case isCertificateError(x.err):
		d.then, d.disposition, d.detail = StepStop, Refused, "the certificate of the provider's host is not trusted"
	case !x.sent():
		d.detail = "no connection was obtained"
	case isRefusedStream(x.err):
		d.detail = "the peer refused the stream before it was processed"
	default:
		d.effect, d.then, d.next = Unknown, StepAmbiguous, ""
		d.detail = "the request was sent and no answer came"
		if errors.Is(x.err, context.DeadlineExceeded) {
			d.detail = "the request was sent and no answer came within " + x.timeout.String()
		}
	}
	return d
}

func (c *Client) judgeSuccess(intent *Intent, answer *Answer) decision {
	d := decision{evidence: evidence{status: answer.Status}, retryAfter: parseRetryAfter(answer.Header, time.Now())}
	if rule := c.exactRule(answer.Status); rule != nil {
		d.apply(rule)
		return d
	}
	object, ok := ParseObject(answer.Body)
	if answer.Truncated || !ok {
		return d.ambiguous("a good status came with a body that cannot be read")
	}
	fields := c.profile.Document.readDocument(object)
	d.word = fields.status
	// The answer to a cancellation may show the key of what was cancelled; every other one can only show its own.
	if intent.Proof != ProofObject && c.profile.Document.namesAnotherKey(object, intent.Key) {
		d.effect, d.then, d.disposition = Unknown, StepStop, NeedsManualReview
		d.reason, d.next, d.uuid = ReasonKeyMismatch, NextReview, fields.uuid
		return d
	}
	isProven := fields.proves(intent.Proof)
	if isProven && fields.uuid == "" { // a weaker proof does not stand against a code that says otherwise
		c.readEnvelope(&d, object)
		isProven = !saysStampedBefore(&d)
	}
	rule := findRule(c.profile.Rules, answer.Status, "", fields.status, false)
	switch {
	case isProven && (rule == nil || rule.Word == "" || !rule.BeatsProof || fields.uuid != ""):
		return d.done(c.newDocument(intent, answer, fields))
	case rule != nil && rule.Word != "":
		d.apply(rule)
		return d
	}
	return c.judgeUnproven(d, object, fields, answer)
}

// judgeUnproven is for a good status that proves nothing: said to be done before, a word without a rule, or silence.
func (c *Client) judgeUnproven(d decision, object Object, fields documentFields, answer *Answer) decision {
	c.readEnvelope(&d, object)
	if saysStampedBefore(&d) {
		return d.stampedBefore(evidenceUUID(&c.profile.Document, object, answer.Body))
	}
	if fields.status == "" && !c.hasOddStatus(object) {
		return d.ambiguous("a good status came without what proves success")
	}
	d.effect, d.then, d.disposition = Unknown, StepStop, NeedsManualReview
	d.reason, d.next = ReasonUnknownStatus, NextReview
	return d
}

// hasOddStatus reports a status that is there and is no text: a word for which there is no rule.
func (c *Client) hasOddStatus(object Object) bool {
	for _, name := range c.profile.Document.Status {
		switch object.Get(name) {
		case "", "null", `""`:
		default:
			return true
		}
	}
	return false
}

func (c *Client) judgeFailure(answer *Answer) decision {
	d := c.newDecision(answer)
	isRedirect := answer.Status >= 300 && answer.Status < 400
	if !isRedirect && saysStampedBefore(&d) {
		object, _ := ParseObject(answer.Body)
		return d.stampedBefore(evidenceUUID(&c.profile.Document, object, answer.Body))
	}
	hasFieldErrors := len(d.fieldErrors) > 0
	rule := findRule(c.rules, answer.Status, d.code, "", hasFieldErrors)
	if rule == nil {
		d.effect, d.then, d.disposition = Unknown, StepStop, NeedsManualReview
		d.reason, d.next, d.detail = ReasonUnknownStatus, NextReview, "the status is none that a rule is for"
		return d
	}
	d.apply(rule)
	d.hasConflict = answer.Status == http.StatusConflict
	if isRedirect {
		d.detail = "redirected to host " + locationHost(answer.Header)
	}
	return d
}

// exactRule returns a rule for exactly this good status, whatever its body says.
func (c *Client) exactRule(status int) *Rule {
	for i := range c.profile.Rules {
		if rule := &c.profile.Rules[i]; rule.Status == status && rule.Word == "" && rule.Code == "" {
			return rule
		}
	}
	return nil
}

func (d *decision) ambiguous(detail string) decision {
	d.effect, d.then, d.disposition, d.detail = Unknown, StepAmbiguous, RetryLater, detail
	return *d
}

func (d *decision) done(doc *document) decision {
	d.effect, d.then, d.document = Executed, stepReturn, doc
	return *d
}

func (d *decision) stampedBefore(uuid string) decision {
	d.effect, d.then, d.disposition, d.next = Executed, StepFind, NeedsManualReview, NextReview
	d.reason, d.uuid = ReasonStampedBefore, uuid
	return *d
}

// newDecision reads status, Retry-After and the envelope of an answer.
func (c *Client) newDecision(answer *Answer) decision {
	d := decision{evidence: evidence{status: answer.Status}, retryAfter: parseRetryAfter(answer.Header, time.Now())}
	if name := c.profile.Envelope.RequestIDHeader; name != "" {
		d.requestID = answer.Header.Get(name)
	}
	if object, ok := ParseObject(answer.Body); ok {
		c.readEnvelope(&d, object)
	}
	return d
}

// readEnvelope reads each member on its own: what cannot be read changes nothing.
func (c *Client) readEnvelope(d *decision, object Object) {
	envelope := &c.profile.Envelope
	d.code, d.message = object.path(envelope.Code), object.path(envelope.Message)
	if id := object.path(envelope.RequestID); id != "" {
		d.requestID = id
	}
	d.fieldErrors = readFieldErrors(object, envelope.FieldErrors)
	if seconds := object.path(envelope.RetryAfter); d.retryAfter == 0 && seconds != "" && countDigits(seconds) == len(seconds) {
		d.retryAfter = secondsToDuration(seconds)
	}
}

func readFieldErrors(object Object, path []string) map[string]string {
	if len(path) == 0 {
		return nil
	}
	for _, name := range path {
		inner, ok := object.Object(name)
		if !ok {
			return nil
		}
		object = inner
	}
	found := make(map[string]string)
	for name, value := range object.members {
		found[unquote(name)] = scalarText(value)
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// saysStampedBefore recognises what PACs answer for a document that they stamped already: code 307, alone, behind a prefix of
// letters as in CFDI307, or at the head of the message.
func saysStampedBefore(d *decision) bool {
	const stampedBefore = "307"
	if strings.TrimLeft(d.code, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-") == stampedBefore {
		return true
	}
	rest, found := strings.CutPrefix(strings.TrimLeft(strings.TrimPrefix(d.message, "CFDI"), " _-"), stampedBefore)
	return found && countDigits(rest) == 0
}

func locationHost(header http.Header) string {
	location, err := url.Parse(header.Get("Location"))
	if err != nil || location.Host == "" || strings.Trim(location.Host, hostLetters) != "" {
		return "(none named)"
	}
	return location.Host
}

// hostLetters are those of a host and a port: nothing else of a Location gets into an error text.
const hostLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]_"

func (c *Client) newDocument(intent *Intent, answer *Answer, fields documentFields) *document {
	doc := &document{operation: intent.Operation, fields: fields, key: intent.Key, raw: answer.Body}
	if name := c.profile.ReplayedHeader; name != "" {
		doc.replayed = strings.EqualFold(answer.Header.Get(name), "true")
	}
	if name := c.profile.Envelope.RequestIDHeader; name != "" {
		doc.requestID = answer.Header.Get(name)
	}
	return doc
}
