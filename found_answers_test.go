package unavez_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

func TestRedirectWithTheCodeOfADuplicateIsNoStampedDocument(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atIpsofactura)
		b.play(answer(307, `{"code":307,"message":"Temporary Redirect"}`, "Location: https://elsewhere.example/"))
		_, err := mainCase(t, atIpsofactura).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
		e := requireError(t, err)
		require.Equal(t, unavez.Refused, e.Disposition, "3xx is Refused, naming the host: %v", e)
		require.Equal(t, unavez.NotExecuted, e.Effect, "nobody stamped anything")
	})
}

func TestNumberIsNoStatusWordAndZeroIsNoIdentifier(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"0", "500", "-1", "1e3"} {
		synctest.Test(t, func(t *testing.T) {
			b := newMock(t, atPayouts)
			b.play(answer(200, `{"id":"po_1","status":`+status+`,"message":"internal"}`))
			_, err := mainCase(t, atPayouts).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
			require.Error(t, err, "a number in place of a word became success: status %s", status)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atFacty)
		b.play(answer(200, `{"paymentId":0}`), answer(200, `{"invoices":[]}`))
		params := paymentParams(atFacty)
		params.StampNow = false
		_, err := b.client.Payments.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey), unavez.WithMaxAttempts(1))
		require.Error(t, err, "paymentId 0 became success")
	})
}

func TestEchoInAnotherShapeIsNoMissingEcho(t *testing.T) {
	t.Parallel()
	for name, echo := range map[string]string{
		"twice": `"idempotencyKey":"other-key","idempotencyKey":"other-key"`, "list": `"idempotencyKey":["other-key"]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMock(t, atFacty)
				b.play(answer(200, `{"id":"inv_1","uuid":"`+testUUID+`",`+echo+`}`))
				b.play(answer(200, `{"invoices":[]}`))
				_, err := mainCase(t, atFacty).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
				require.Error(t, err, "a document that names another key was adopted")
			})
		})
	}
}

func TestNumberedRowThatNamesAnotherKeyIsNotAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atIpsofactura)
		b.play(lostAnswer())
		_, err := caseOf(t, atIpsofactura, unavez.InvoiceStampXML).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
		_ = requireError(t, err)
		b.play(answer(200, `{"data":[{"id":"cfdi_9","serie":"A","folio":"8","rfc_emisor":"EKU9003173C9","idempotency_key":"mi-erp:test:factura:OTHER","folio_fiscal":"`+testUUID+`"}]}`))
		found, err := b.client.Invoices.Reconcile(t.Context(), testKey,
			unavez.WithReference(unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "A", Folio: "8"}))
		e := requireError(t, err)
		require.Nil(t, found, "the document of another key was adopted")
		require.Equal(t, unavez.ReasonKeyMismatch, e.Reason, "the row names another key")
	})
}

func TestKeysThatLookLikeUUIDsAreComparedExactly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const key = "5f0c2b9e-8a41-4c77-9b0d-2e6a1d3f4c55"
		b := newMock(t, atFacty)
		b.play(answer(200, `{"invoices":[{"id":"inv_1","idempotencyKey":"`+strings.ToUpper(key)+`","status":"stamped","uuid":"`+testUUID+`"}]}`))
		_, err := b.client.Invoices.Reconcile(t.Context(), key)
		require.Error(t, err, "the row of another key was adopted")
	})
}

func TestRecordedPaymentWhoseStatusIsFailedIsNoSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atFacty)
		b.play(answer(200, `{"paymentId":"pay_1","status":"failed"}`), answer(200, `{"invoices":[{"idempotencyKey":"`+testKey+`","status":"failed"}]}`))
		params := paymentParams(atFacty)
		params.StampNow = false
		_, err := b.client.Payments.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey), unavez.WithMaxAttempts(1))
		require.Error(t, err, "a word with a rule (failed) was returned as success")
	})
}

func TestReferenceThatContradictsTheRecordProvesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atIpsofactura)
		b.play(lostAnswer())
		_, err := mainCase(t, atIpsofactura).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1)) // serie B, folio 77
		_ = requireError(t, err)
		b.play(answer(200, `{"data":[]}`))
		_, err = b.client.Invoices.Reconcile(t.Context(), testKey,
			unavez.WithReference(unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "78"}))
		e := requireError(t, err)
		require.NotEqual(t, unavez.ReasonNeverArrived, e.Reason, "another folio was asked for than the recorded one: %v", e)
	})
}

func TestListThatNamesAFurtherPageIsNotEmpty(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]reply{
		"links.next":   answer(200, `{"invoices":[],"links":{"next":"/invoices?page=2"}}`),
		"hasNextPage":  answer(200, `{"invoices":[],"hasNextPage":true}`),
		"meta.total":   answer(200, `{"invoices":[],"meta":{"total":3}}`),
		"last_page":    answer(200, `{"invoices":[],"current_page":1,"last_page":3}`),
		"Link header":  answer(200, `{"invoices":[]}`, `Link: </invoices?page=2>; rel="next"`),
		"totalResults": answer(200, `{"invoices":[],"totalResults":7}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMock(t, atFacty)
				b.play(r)
				_, err := b.client.Invoices.Reconcile(t.Context(), testKey)
				e := requireError(t, err)
				require.NotEqual(t, unavez.ReasonNeverArrived, e.Reason, "one page of a longer list proved an absence")
			})
		})
	}
}

func TestEmptyListOfInvoicesProvesNothingAboutAnUnrecordedKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newSandbox(t)
		_, err := caseOf(t, atFacty, unavez.RetentionCreate).do(t.Context(), b.client(atFacty), testKey)
		require.NoError(t, err)
		require.Equal(t, 1, b.server.Effects(testKey), "one key, one effect")
		_, err = b.client(atFacty).Reconcile(t.Context(), testKey) // a process whose journal is empty
		e := requireError(t, err)
		require.NotEqual(t, unavez.ReasonNeverArrived, e.Reason, "the ledger holds an effect under this key: %v", e)
	})
}

func TestCancelledReconcileOfAFailedKeyDoesNotSayResend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atFacty)
		b.play(answer(409, `{"code":"CONFLICT"}`), answer(200, `{"invoices":[{"idempotencyKey":"`+testKey+`","status":"failed"}]}`))
		_, err := mainCase(t, atFacty).do(t.Context(), b.client, testKey)
		_ = requireError(t, err)
		b.play(silence())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = b.client.Reconcile(ctx, testKey)
		e := requireError(t, err)
		require.NotEqual(t, unavez.NextResend, e.Next, "a failed key may not be resent: %v", e)
		record, err := b.client.Record(t.Context(), testKey)
		require.NoError(t, err)
		require.Equal(t, unavez.StateReview, record.State, "a failed key waits for a person")
		require.Equal(t, unavez.ReasonFailed, record.Result.Reason, "the record forgot why")
	})
}

func TestEffectIsThatOfAllAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atIpsofactura)
		b.play(answer(429, `{}`), noConnection())
		_, err := mainCase(t, atIpsofactura).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(2))
		e := requireError(t, err)
		require.Equal(t, unavez.NotExecuted, e.Effect, "NotSent is 'no byte of the request reached the provider', and the first did: %v", e)
	})
}

func TestErrorNamesTheLimitThatEndedTheAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newSandbox(t)
		b.server.Script(sandbox.HangAfter())
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := mainCase(t, atIpsofactura).do(ctx, b.client(atIpsofactura), testKey)
		e := requireError(t, err)
		require.NotContains(t, e.Error(), "within 30s", "the caller's deadline of 3 s ended it")
	})
}

func TestAwaitGivesTheDocumentThatItCouldNotRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fails := 1
		journal := &hookedJournal{Journal: unavez.NewMemoryJournal(0)}
		b := newMock(t, atFacty)
		client := b.newClient(unavez.WithJournal(journal))
		b.play(lostAnswer(), lostAnswer())
		_, err := mainCase(t, atFacty).do(t.Context(), client, testKey, unavez.WithMaxAttempts(1))
		_ = requireError(t, err)
		journal.finish = func(context.Context, unavez.Result) error {
			fails--
			if fails < 0 {
				return nil
			}
			return errors.New("disk full")
		}
		row := answer(200, `{"invoices":[{"id":"inv_1","idempotencyKey":"`+testKey+`","status":"stamped","uuid":"`+testUUID+`"}]}`)
		b.play(row)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		invoice, err := client.Invoices.Await(ctx, testKey)
		require.ErrorIs(t, err, unavez.ErrNotRecorded, "the document was seen and could not be recorded")
		require.NotNil(t, invoice, "the document that was found is thrown away")
		require.Zero(t, time.Since(began), "Await sleeps with the document in its hand")
	})
}

func TestAwaitDoesNotWaitForWhatCannotCome(t *testing.T) {
	t.Parallel()
	t.Run("lookup only, where there is no lookup", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newMock(t, atFiscalisto)
			b.play(lostAnswer())
			_, err := mainCase(t, atFiscalisto).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
			_ = requireError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Hour)
			defer cancel()
			began := time.Now()
			_, err = b.client.Invoices.Await(ctx, testKey, unavez.WithLookupOnly())
			_ = requireError(t, err)
			require.Less(t, time.Since(began), time.Minute, "it asks nobody, for ever")
		})
	})
	t.Run("never sent", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newMock(t, atFiscalisto)
			b.play(noConnection())
			_, err := mainCase(t, atFiscalisto).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
			_ = requireError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Hour)
			defer cancel()
			began := time.Now()
			_, err = b.client.Invoices.Await(ctx, testKey)
			e := requireError(t, err)
			require.Equal(t, unavez.NextResend, e.Next, "nothing was sent")
			require.Less(t, time.Since(began), time.Minute, "nothing was sent and Await sends nothing: it waits for nobody, for ever")
		})
	})
}
