package unavez

import "errors"

// The sentences of [Error.Explain], one per word of the vocabulary.

func (e *Error) explainKnown() string {
	switch {
	case e.Op == string(invoiceFind):
		return "this was a read: it says nothing about a stamp that is under way."
	case e.Reason == ReasonDuplicate:
		return "the provider lists more than one document under this key."
	}
	return explainEffect(e.Effect)
}

func explainEffect(effect Effect) string {
	switch effect {
	case NotSent:
		return "nothing was sent."
	case NotExecuted:
		return "the provider answered that nothing was stamped or paid."
	case Executed:
		return "it was done at the provider."
	case Unknown:
		return "the request may have been executed."
	}
	return "nothing about the effect."
}

func (e *Error) explainReason() string {
	switch e.Reason {
	case ReasonFailed:
		if e.Effect == Unknown {
			return "the provider's record of this key says failed, which may be from before this try."
		}
		return "the provider's record of this key says failed: no document was issued and the stamp was refunded."
	case ReasonNeverArrived:
		return "the provider has no record of this key."
	case ReasonUnknownStatus:
		return "the answer names a status that the provider's page does not list."
	case ReasonKeyMismatch:
		return "the answer belongs to another key and was not adopted."
	case ReasonDuplicate:
		return "the provider lists more than one document under this key."
	case ReasonKeyExpired:
		return "the provider no longer remembers the key, so the same request could be executed a second time."
	case ReasonKeyReused:
		return "the key is held for a request with other bytes."
	case ReasonConflict:
		return "the provider reports a conflict that no rule lets a program settle."
	case ReasonContradiction:
		return "two answers about one key exclude each other."
	case ReasonStampedBefore:
		return "the provider says that this was stamped before and does not show the document."
	case ReasonOtherProvider:
		return "the same record is unresolved at another provider."
	case ReasonNoRecord:
		return "the journal does not know the key and the provider documents no way to ask for it."
	case ReasonOutcomeUnknown:
		return "the provider itself does not know the outcome and says never to repeat it."
	}
	return string(e.Reason)
}

func (e *Error) explainNext() string {
	switch {
	case errors.Is(e, errors.ErrUnsupported):
		return "this provider cannot do it; there is nothing to send."
	case errors.Is(e, ErrKeyReused) && e.Next == NextReconcile:
		return "find out which of the two records is wrong. Reconcile answers for the other request: its document is not this one's."
	case e.Reason == ReasonNoRecord:
		return "ask the journal of whoever may have sent it, and the provider. Here is nothing to Resolve; if nobody has sent it, Create is the way."
	case e.Disposition == Refused && e.Next == NextResend:
		return "mend that; then the same request under the same key is safe."
	case e.Key == "" && e.Next == NextFixSameKey:
		return "correct the call."
	}
	return explainNext(e.Next)
}

func explainNext(next Next) string {
	switch next {
	case NextResend:
		return "the same request under the same key is safe."
	case NextReconcile:
		return "call Reconcile with this key before anything is sent again."
	case NextFixSameKey:
		return "correct the request and send it under the same key."
	case NextFixNewKey:
		return "correct the request and send it under a new key."
	case NextReview:
		return "send nothing. Find out at the provider (its console, or its support with the key and the request id), then record the decision with Resolve."
	}
	return "there is nothing to send."
}
