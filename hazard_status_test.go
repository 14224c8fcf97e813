package unavez_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// strangeWords are values in the place of a status that no page lists, of every JSON type.
func strangeWords() []string {
	return []string{
		`"cancelled"`, `"valid"`, `"STAMPED"`, `"Stamped"`, `"stamped "`, `" stamped"`, `"Stamped "`, `"timbrado"`, `"pending\u0000"`, `"FAILED"`, `"error"`, `"success"`,
		`7`, `0`, `true`, `false`, `[]`, `["stamped"]`, `{}`, `{"status":"stamped"}`, `1e3`,
	}
}

func TestStatusOfARowThatNoPageListsIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	for _, word := range append(strangeWords(), `""`, `null`, absent) {
		for _, uuid := range []string{`null`, `"` + testUUID + `"`} {
			for _, asking := range askings() {
				t.Run(fmt.Sprint(word, " ", uuid, " ", asking.name), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						b := newMock(t, atFacty)
						status := `,"status":` + word
						if word == absent {
							status = ""
						}

						made, err := asking.ask(t, b, answer(200, factyList(`{"id":"inv_1","idempotencyKey":"`+testKey+`","uuid":`+uuid+status+`}`)))

						require.Nil(t, made, "a word was guessed at")
						e := requireError(t, err)
						require.Equal(t, unavez.NeedsManualReview, e.Disposition)
						require.Equal(t, unavez.ReasonUnknownStatus, e.Reason)
						require.Equal(t, unavez.Unknown, e.Effect)
						require.Len(t, b.writes(), asking.writes, "sent again on a word that nobody knows")
					})
				})
			}
		}
	}
}

func TestStatusOfAnAnswerThatNoPageListsIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		if c.operation == unavez.InvoiceCancel || c.operation == unavez.PaymentCancel || c.provider == atPayouts {
			continue // any object is the answer to a cancellation; any word of a payout with an id is a state of it
		}
		for _, word := range strangeWords() {
			for _, status := range []int{200, 201} {
				t.Run(fmt.Sprint(c, " ", status, " ", word), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						b := newMock(t, c.provider)
						b.play(answer(status, `{"id":"inv_1","status":`+word+`}`))

						made, err := c.do(t.Context(), b.client, testKey)

						require.Nil(t, made)
						e := requireError(t, err)
						require.Equal(t, unavez.NeedsManualReview, e.Disposition)
						require.Equal(t, unavez.ReasonUnknownStatus, e.Reason)
						require.Len(t, b.all(), 1)
					})
				})
			}
		}
	}
}

func TestStatusWordThatNobodyKnowsIsKeptForThePerson(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(t *testing.T, b *mockBundle) error{
		"in a row": func(t *testing.T, b *mockBundle) error {
			t.Helper()
			b.play(answer(200, factyList(`{"idempotencyKey":"`+testKey+`","status":"en_revision"}`)))
			_, err := b.client.Invoices.Reconcile(t.Context(), testKey)
			return err
		},
		"in the answer": func(t *testing.T, b *mockBundle) error {
			t.Helper()
			b.play(answer(201, `{"id":"inv_1","status":"en_revision"}`))
			_, err := mainCase(t, atFacty).do(t.Context(), b.client, testKey)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := requireError(t, ask(t, newMock(t, atFacty)))
				require.Equal(t, unavez.ReasonUnknownStatus, e.Reason)
				require.Equal(t, "en_revision", e.Status, "the word is lost")
			})
		})
	}
}

func TestStampedWordWithAProofIsReturnedWithItsWordAsGiven(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		if c.operation == unavez.InvoiceCancel || c.operation == unavez.PaymentCancel {
			continue
		}
		for _, word := range []string{"cancelled", "valid", "STAMPED", "Stamped ", "timbrado", "pending", "processing", "paid"} {
			t.Run(c.String()+" "+word, func(t *testing.T) {
				t.Parallel()
				b := newMock(t, c.provider)
				b.play(answer(201, c.withMember(t, "status", `"`+word+`"`)))

				made, err := c.do(t.Context(), b.client, testKey)

				require.NoError(t, err)
				require.Equal(t, word, made.Status)
			})
		}
	}
}
