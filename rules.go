package unavez

import (
	"net/http"
)

// Step is what the attempt loop does after an answer.
type Step uint8

const (
	// StepStop ends the call.
	StepStop Step = iota
	// StepResend waits and sends the same bytes under the same key.
	StepResend
	// StepAmbiguous follows the operation's rule for ambiguity: resend, look up or stop.
	StepAmbiguous
	// StepLookUp asks what became of the key, and never resends.
	StepLookUp
	// StepFind is for an answer which says that it was done before: look up where that is possible, else resend.
	StepFind
	// stepReturn ends the call with the document.
	stepReturn
)

// Rule is one row of a provider's page: which answer, what it says of the effect, and what may be done. Where no rule
// of the provider matches an answer, a rule that holds for every provider does; none of those resends anything
// that may have been executed.
type Rule struct {
	// Status is the exact status, or a class: 4 stands for 400 to 499.
	Status int
	// Code is the provider's error code, compared exactly. Empty matches every code.
	Code string
	// Word is a status word in the body of a 2xx answer, compared exactly. Empty matches every word.
	Word string
	// BeatsProof says that the word stands against what would otherwise prove success, except a fiscal UUID.
	BeatsProof bool
	// HasFieldErrors limits the rule to an answer that names wrong fields.
	HasFieldErrors bool

	Effect      Effect
	Then        Step
	Disposition Disposition
	Next        Next
	Reason      Reason
	// AboutPayload says that the answer is a verdict on the payload: as the key makes every attempt one
	// operation, it clears an earlier attempt whose outcome was unknown.
	AboutPayload bool
	// Marks is a sentinel that the error matches beside its disposition.
	Marks error
	// Says restates the sentence of the provider's page, for the person who reads the error.
	Says string
}

// weight orders rules: a code or a word beats an exact status, which beats a class.
func (r *Rule) weight() int {
	weight := 0
	if r.Status >= 100 {
		weight++
	}
	if r.HasFieldErrors {
		weight += 2
	}
	if r.Code != "" || r.Word != "" {
		weight += 4
	}
	return weight
}

func (r *Rule) matches(status int, code, word string, hasFieldErrors bool) bool {
	if r.Status != status && r.Status != status/100 {
		return false
	}
	if r.HasFieldErrors && !hasFieldErrors {
		return false
	}
	return (r.Code == "" || r.Code == code) && (r.Word == "" || r.Word == word)
}

// findRule returns the most specific rule of rules for the answer, nil if none matches.
func findRule(rules []Rule, status int, code, word string, hasFieldErrors bool) *Rule {
	var best *Rule
	for i := range rules {
		rule := &rules[i]
		if !rule.matches(status, code, word, hasFieldErrors) {
			continue
		}
		if best == nil || rule.weight() > best.weight() {
			best = rule
		}
	}
	return best
}

// commonRules hold for every provider whose own table is silent.
func commonRules() []Rule {
	return []Rule{
		{
			Status: 3, Effect: NotExecuted, Then: StepStop, Disposition: Refused, Next: NextResend,
			Says: "a redirect is never followed: the base URL is wrong, or something stands in between.",
		},
		{
			Status: http.StatusUnauthorized, Effect: NotExecuted, Then: StepStop, Disposition: Refused, Next: NextResend,
			Marks: ErrUnauthorized, Says: "the credentials were refused.",
		},
		{
			Status: http.StatusForbidden, Effect: NotExecuted, Then: StepStop, Disposition: Refused, Next: NextResend,
			Marks: ErrUnauthorized, Says: "the account lacks a right.",
		},
		{
			Status: http.StatusPaymentRequired, Effect: NotExecuted, Then: StepStop, Disposition: Refused, Next: NextResend,
			Marks: ErrInsufficientBalance, Says: "the account has nothing left to stamp or pay with.",
		},
		{Status: http.StatusRequestTimeout, Effect: Unknown, Then: StepAmbiguous, Disposition: RetryLater},
		{Status: http.StatusTooEarly, Effect: NotExecuted, Then: StepResend, Disposition: RetryLater, Next: NextResend},
		{Status: http.StatusTooManyRequests, Effect: NotExecuted, Then: StepResend, Disposition: RetryLater, Next: NextResend},
		{
			Status: http.StatusConflict, Effect: Unknown, Then: StepStop, Disposition: NeedsManualReview, Next: NextReview,
			Reason: ReasonConflict, Says: "this conflict is not documented.",
		},
		{Status: 4, Effect: NotExecuted, Then: StepStop, Disposition: Refused, Next: NextFixNewKey},
		{Status: 5, Effect: Unknown, Then: StepAmbiguous, Disposition: RetryLater},
	}
}
