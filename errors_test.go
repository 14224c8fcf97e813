package unavez_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

func TestErrorMatchesTheSentinelOfItsDispositionAlone(t *testing.T) {
	t.Parallel()
	sentinels := map[unavez.Disposition]error{
		unavez.Refused: unavez.ErrRefused, unavez.RetryLater: unavez.ErrRetryLater, unavez.NeedsManualReview: unavez.ErrNeedsManualReview,
	}
	for disposition := range sentinels {
		err := fmt.Errorf("while saving: %w", &unavez.Error{Disposition: disposition})
		for other, sentinel := range sentinels {
			require.Equal(t, disposition == other, errors.Is(err, sentinel), "%s, %s", disposition, other)
		}
		for _, mark := range []error{
			unavez.ErrOutcomeUnknown, unavez.ErrKeyReused, unavez.ErrNoIdempotencyKey, unavez.ErrKeyInvalid, unavez.ErrUnauthorized,
			unavez.ErrInsufficientBalance, unavez.ErrNotFound, unavez.ErrNotRecorded,
		} {
			require.NotErrorIs(t, err, mark)
		}
	}
}

func TestErrorMatchesItsCause(t *testing.T) {
	t.Parallel()
	err := error(&unavez.Error{Disposition: unavez.RetryLater, Err: fmt.Errorf("dial: %w", context.DeadlineExceeded)})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, unavez.ErrRetryLater)
	require.NotErrorIs(t, err, context.Canceled)
}

func TestErrorTextIsOurOwnWordsAndTheCode(t *testing.T) {
	t.Parallel()
	err := &unavez.Error{
		Op: "invoices.create", Provider: "facty", Key: "mi-erp:test:cliente-Peña:1", Disposition: unavez.NeedsManualReview, Reason: unavez.ReasonFailed,
		Effect: unavez.NotExecuted, Next: unavez.NextFixSameKey, HTTPStatus: 422, Code: "CFDI40147",
		Message: "PEÑA no existe", RequestID: "req_1", FieldErrors: map[string]string{"rfc": "URE180429TM6"}, UUID: "5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55",
		Attempts: make([]unavez.Attempt, 2), RetryAfter: 90 * time.Second, Err: errors.New("URE180429TM6 was here"),
	}
	require.Equal(t, "unavez: invoices.create at facty: needs manual review: failed: status 422 CFDI40147 after 2 requests, "+
		"retry after 1m30s, next: fix same key", err.Error())
	for _, personal := range []string{"Peña", "PEÑA", "URE180429TM6", "5F0C2B9E"} {
		require.NotContains(t, err.Error()+err.Explain(), personal)
	}
}

func TestErrorTextHoldsACodeOnlyIfItLooksLikeOne(t *testing.T) {
	t.Parallel()
	for code, isPrinted := range map[string]bool{
		"idempotency_key_reused": true, "CFDI40147": true, "A.B-C_1": true, "429": true,
		"PEÑA": false, "no existe el cliente": false, "<html>": false, "a\nb": false, "https://x/y": false, strings.Repeat("x", 65): false,
	} {
		err := &unavez.Error{Disposition: unavez.Refused, HTTPStatus: 400, Code: code}
		require.Equal(t, isPrinted, strings.Contains(err.Error(), code), code)
	}
}

func TestErrorTextOfNothingIsStillAText(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, (&unavez.Error{}).Error())
	require.NotEmpty(t, (&unavez.Error{}).Explain())
}

func TestExplainHasASentenceForEveryWord(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	add := func(kind, word, sentence string) {
		require.NotContains(t, sentence, word, "%s %q is repeated, not explained", kind, word)
		require.Empty(t, seen[kind+sentence], "%s %q has the sentence of %q", kind, word, seen[kind+sentence])
		seen[kind+sentence] = word
	}
	for _, effect := range []unavez.Effect{unavez.NotSent, unavez.NotExecuted, unavez.Executed, unavez.Unknown} {
		add("effect", string(effect)+"_", (&unavez.Error{Effect: effect}).Explain())
	}
	for _, reason := range []unavez.Reason{
		unavez.ReasonFailed, unavez.ReasonNeverArrived, unavez.ReasonUnknownStatus, unavez.ReasonKeyMismatch, unavez.ReasonDuplicate,
		unavez.ReasonKeyExpired, unavez.ReasonKeyReused, unavez.ReasonConflict, unavez.ReasonContradiction, unavez.ReasonStampedBefore,
		unavez.ReasonOtherProvider, unavez.ReasonNoRecord, unavez.ReasonOutcomeUnknown,
	} {
		explained := (&unavez.Error{Reason: reason}).Explain()
		require.NotContains(t, explained, "Why a person: "+string(reason)+"\n")
		add("reason", string(reason)+"_", explained)
	}
	for _, next := range []unavez.Next{unavez.NextResend, unavez.NextReconcile, unavez.NextFixSameKey, unavez.NextFixNewKey, unavez.NextReview} {
		add("next", string(next)+"_", (&unavez.Error{Next: next}).Explain())
	}
}

func TestExplainSaysHowLongToWait(t *testing.T) {
	t.Parallel()
	require.Contains(t, (&unavez.Error{Next: unavez.NextResend, RetryAfter: time.Minute}).Explain(), "Wait 1m0s first.")
	require.NotContains(t, (&unavez.Error{Next: unavez.NextResend}).Explain(), "Wait")
}

func TestServiceErrorIsNeverATypedNil(t *testing.T) {
	t.Parallel()
	_, err := newUntouched(t, "facty").Prepare(&unavez.Operation{Name: unavez.InvoiceCreate, Invoice: goodInvoice()}, unavez.WithDomainID("factura", "1"))
	require.NoError(t, err)
	require.True(t, err == nil) //nolint:testifylint // a typed nil would pass NoError
}
