package unavez_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// factyRow is a row of Facty's list.
func factyRow(key, status, uuid string) string {
	return `{"id":"inv_` + uuid[:2] + `","idempotencyKey":"` + key + `","status":"` + status + `","uuid":"` + uuid + `"}`
}

func factyList(rows ...string) string { return `{"invoices":[` + strings.Join(rows, ",") + `]}` }

// asking is a way in which a lookup comes about.
type asking struct {
	name string
	// ask performs it; writes is how many writes that takes.
	ask    func(t *testing.T, b *mockBundle, lookups ...reply) (*result, error)
	writes int
}

func askings() []asking {
	return []asking{
		{"in Create after a lost answer", func(t *testing.T, b *mockBundle, lookups ...reply) (*result, error) {
			t.Helper()
			b.play(lostAnswer()).play(lookups...)
			return mainCase(t, atFacty).do(t.Context(), b.client, testKey)
		}, 1},
		{"from Reconcile of an unresolved key", func(t *testing.T, b *mockBundle, lookups ...reply) (*result, error) {
			t.Helper()
			leaveUnresolved(t, b)
			b.play(lookups[:1]...)
			return mainCase(t, atFacty).reconcile(t.Context(), b.client, testKey)
		}, 1},
		{"from Reconcile after a restart", func(t *testing.T, b *mockBundle, lookups ...reply) (*result, error) {
			t.Helper()
			leaveUnresolved(t, b)
			b.play(lookups[:1]...)
			return mainCase(t, atFacty).reconcile(t.Context(), b.newClient(), testKey)
		}, 1},
		{"from Reconcile of a key that the journal does not know", func(t *testing.T, b *mockBundle, lookups ...reply) (*result, error) {
			t.Helper()
			b.play(lookups[:1]...)
			return mainCase(t, atFacty).reconcile(t.Context(), b.client, testKey)
		}, 0},
	}
}

// leaveUnresolved sends one write whose answer is lost, and whose lookup is answered by a gateway.
func leaveUnresolved(t *testing.T, b *mockBundle) {
	t.Helper()
	b.play(lostAnswer())
	if b.provider == atFacty {
		b.play(answer(502, ""))
	}
	_, err := mainCase(t, b.provider).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
	require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
}

func TestRowIsAdoptedOnlyIfItRepeatsTheKey(t *testing.T) {
	t.Parallel()
	ours, other := factyRow(testKey, "stamped", testUUID), func(key string) string { return factyRow(key, "stamped", anotherUUID(key)) }
	almost := []string{
		testKey + " ", " " + testKey, testKey + "0", testKey[:len(testKey)-1], strings.ToUpper(testKey), strings.ReplaceAll(testKey, ":", "%3A"),
		strings.ReplaceAll(testKey, ":", "\\u003a") + "x", testKey + "\\u0000", strings.Replace(testKey, "test", "prod", 1), "",
	}
	rows := map[string]struct {
		list   string
		reason unavez.Reason
	}{
		"ours alone":             {factyList(ours), ""},
		"ours first":             {factyList(ours, other("a"), other("b")), ""},
		"ours last":              {factyList(other("a"), other("b"), ours), ""},
		"ours in the middle":     {factyList(other("a"), ours, other("b")), ""},
		"ours escaped":           {factyList(other("a"), strings.Replace(ours, `mi-erp:`, `mi\u002derp\u003a`, 1)), ""},
		"ours absent":            {factyList(other("a"), other("b")), unavez.ReasonKeyMismatch},
		"ours twice":             {factyList(ours, other("a"), ours), unavez.ReasonDuplicate},
		"ours with other UUIDs":  {factyList(ours, factyRow(testKey, "failed", anotherUUID("x"))), unavez.ReasonDuplicate},
		"echo missing":           {factyList(`{"id":"inv_1","status":"stamped","uuid":"` + testUUID + `"}`), unavez.ReasonKeyMismatch},
		"echo null":              {factyList(`{"idempotencyKey":null,"status":"stamped","uuid":"` + testUUID + `"}`), unavez.ReasonKeyMismatch},
		"echo a number":          {factyList(`{"idempotencyKey":7,"status":"stamped","uuid":"` + testUUID + `"}`), unavez.ReasonKeyMismatch},
		"echo an array":          {factyList(`{"idempotencyKey":["` + testKey + `"],"status":"stamped","uuid":"` + testUUID + `"}`), unavez.ReasonKeyMismatch},
		"echo in another member": {factyList(`{"IdempotencyKey":"` + testKey + `","status":"stamped","uuid":"` + testUUID + `"}`), unavez.ReasonKeyMismatch},
		"echo given twice": {factyList(`{"idempotencyKey":"` + testKey + `","idempotencyKey":"other","status":"stamped","uuid":"` +
			testUUID + `"}`), unavez.ReasonKeyMismatch},
	}
	for i, key := range almost {
		rows[fmt.Sprintf("almost ours %d", i)] = struct {
			list   string
			reason unavez.Reason
		}{factyList(other(key)), unavez.ReasonKeyMismatch}
	}
	for name, row := range rows {
		for _, asking := range askings() {
			t.Run(name+" "+asking.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newMock(t, atFacty)

					made, err := asking.ask(t, b, answer(200, row.list))

					require.Len(t, b.writes(), asking.writes, "something was sent again")
					if row.reason == "" {
						require.NoError(t, err)
						require.Equal(t, testUUID, made.UUID)
						require.Equal(t, testKey, made.Key)
						return
					}
					require.Nil(t, made, "somebody else's document was adopted")
					e := requireError(t, err)
					require.Equal(t, unavez.NeedsManualReview, e.Disposition)
					require.Equal(t, row.reason, e.Reason)
				})
			})
		}
	}
}

func TestIgnoredLookupFilterAdoptsNobodyElsesInvoice(t *testing.T) {
	t.Parallel()
	for _, others := range []int{1, 2, 25} {
		for name, isOurs := range map[string]bool{"ours arrived": true, "ours did not arrive": false} {
			t.Run(fmt.Sprint(others, " others, ", name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b, c := newSandbox(t), mainCase(t, atFacty)
					client := b.client(atFacty)
					for i := range others {
						_, err := c.do(t.Context(), client, fmt.Sprint("another-key-", i))
						require.NoError(t, err)
					}
					if isOurs {
						b.server.Script(sandbox.CloseAfter())
					} else {
						b.server.Script(sandbox.CloseBefore())
					}
					for range 8 {
						b.server.ScriptLookups(sandbox.IgnoreFilter())
					}

					made, err := c.do(t.Context(), client, testKey)

					require.Len(t, arrived(b.server, c, testKey), 1)
					if isOurs {
						require.NoError(t, err)
						ledger := b.server.Ledger()
						require.Equal(t, ledger[len(ledger)-1].UUID, made.UUID)
						return
					}
					require.Nil(t, made)
					require.Equal(t, unavez.ReasonKeyMismatch, requireError(t, err).Reason)
				})
			})
		}
	}
}

func TestListOfAnotherShapeTeachesNothing(t *testing.T) {
	t.Parallel()
	ours := factyRow(testKey, "stamped", testUUID)
	shapes := []string{
		``, `null`, `[]`, `{}`, `7`, `"x"`, `true`, `[` + ours + `]`, `{"data":[` + ours + `]}`, `{"invoices":null}`, `{"invoices":{}}`, `{"invoices":` + ours + `}`,
		`{"invoices":""}`, `{"invoices":0}`, `{"invoices":false}`, `{"invoices":"[]"}`, `{"Invoices":[]}`, `{"invoices":[],"invoices":[` + ours + `]}`,
		`{"invoice":[]}`, `{"result":{"invoices":[]}}`, `{"invoices":[]`, `{"invoices":[]}}`, `<html></html>`, `{"invoices":[null]}`, `{"invoices":[7]}`,
		`{"invoices":["` + testKey + `"]}`, `{"invoices":[[` + ours + `]]}`, `{"invoices":[true]}`, `{"error":"down","code":"X"}`,
		`{"invoices":[],"next":"p2"}`, `{"invoices":[],"nextPage":2}`, `{"invoices":[],"next_cursor":"x"}`, `{"invoices":[],"hasMore":true}`,
		`{"invoices":[],"total":3}`, `{"invoices":[],"totalPages":2}`, `{"invoices":[],"next":{"page":2}}`, `{"invoices":[],"has_more":1}`,
	}
	for _, shape := range shapes {
		for _, asking := range askings() {
			t.Run(shape+" "+asking.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newMock(t, atFacty)

					made, err := asking.ask(t, b, answer(200, shape), answer(200, shape), answer(200, shape), answer(200, shape), answer(200, shape))

					require.Nil(t, made)
					e := requireError(t, err)
					require.Equal(t, unavez.RetryLater, e.Disposition)
					require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
					require.Len(t, b.writes(), asking.writes, "resent on a list that teaches nothing")
				})
			})
		}
	}
}

func TestEmptyListIsBelievedWhereItIsDocumented(t *testing.T) {
	t.Parallel()
	for _, list := range []string{
		`{"invoices":[]}`, ` { "invoices" : [ ] } `, `{"invoices":[],"next":null}`, `{"invoices":[],"next":""}`, `{"invoices":[],"hasMore":false}`,
		`{"invoices":[],"meta":{"version":1}}`, `{"invoices":[],"links":{"self":"/invoices"}}`, `{"invoices":[],"pagination":null}`,
		`{"invoices":[],"total":0}`, `{"invoices":[],"page":1,"totalPages":1}`, `{"x":1,"invoices":[]}`,
	} {
		for _, asking := range askings()[1:] {
			t.Run(list+" "+asking.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newMock(t, atFacty)

					_, err := asking.ask(t, b, answer(200, list))

					e := requireError(t, err)
					require.Equal(t, unavez.NeedsManualReview, e.Disposition)
					require.Equal(t, unavez.ReasonNeverArrived, e.Reason)
					require.Equal(t, unavez.NextResend, e.Next, "the same request under the same key is safe")
					require.Len(t, b.writes(), asking.writes)
				})
			})
		}
	}
}

func TestCreateBelievesAnEmptyListOnlyAfterASecondLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, b := mainCase(t, atFacty), newMock(t, atFacty)
		b.play(lostAnswer(), answer(200, `{"invoices":[]}`), answer(200, `{"invoices":[]}`), answer(201, c.success))

		made, err := c.do(t.Context(), b.client, testKey)

		require.NoError(t, err)
		require.Equal(t, testUUID, made.UUID)
		require.Len(t, b.lookups(), 2)
		require.GreaterOrEqual(t, b.lookups()[1].At-b.lookups()[0].At, time.Second, "a wait between the looks")
		require.Len(t, b.writes(), 2)
		requireSameBytes(t, b.writes())
	})
}

func TestLookupThatLagsNeverLeadsToASecondEffect(t *testing.T) {
	t.Parallel()
	for _, half := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 25, 30, 31, 32, 40, 60, 62, 64, 80, 120} {
		lag := time.Duration(half) * 500 * time.Millisecond
		for name, fault := range map[string]sandbox.Fault{
			"answer lost": sandbox.CloseAfter(), "gateway after commit": sandbox.HTML(504).AfterCommit(), "slow": sandbox.Slow(lag),
			"queued": sandbox.Queue(lag), "late": sandbox.Late(lag + time.Second), "pending": sandbox.StayPending(lag),
		} {
			for _, c := range writeCases(t, atFacty)[:2] {
				t.Run(fmt.Sprint(c, " ", name, " ", lag), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						b := newSandbox(t, sandbox.WithLookupLag(lag))
						client := b.client(atFacty, unavez.WithTimeout(time.Second))
						b.server.Script(fault)

						made, err := c.do(t.Context(), client, testKey)

						if made != nil {
							require.Equal(t, b.server.Ledger()[0].UUID, made.UUID)
						} else {
							require.NotEqual(t, unavez.Refused, requireError(t, err).Disposition)
						}
						time.Sleep(3 * time.Minute)
						require.LessOrEqual(t, b.server.Effects(testKey), 1, "stamped twice")
						bodies := map[string]bool{}
						for _, request := range arrived(b.server, c, testKey) {
							bodies[string(request.Body)] = true
						}
						require.Len(t, bodies, 1, "the same bytes under the same key")
						if made == nil {
							again, err := c.reconcile(t.Context(), client, testKey)
							requireAgrees(t, b.server, again, err)
						}
					})
				})
			}
		}
	}
}

// requireAgrees asks that what a later reconcile says is what the ledger holds.
func requireAgrees(t *testing.T, server *sandbox.Server, made *result, err error) {
	t.Helper()
	switch {
	case server.Effects(testKey) == 1:
		require.NoError(t, err, "the ledger has the document")
		require.Equal(t, server.Ledger()[0].UUID, made.UUID)
	default:
		require.Nil(t, made, "a document that the ledger does not have")
		require.Error(t, err)
	}
}

// forgetful is a journal that has dropped the bytes of its requests.
type forgetful struct{ unavez.Journal }

func (j forgetful) Begin(ctx context.Context, intent unavez.Intent) (unavez.Record, error) {
	record, err := j.Journal.Begin(ctx, intent)
	record.Body = nil
	return record, err
}

func TestReconcileWithoutTheRecordedBytesSendsNothingAndIsForAPerson(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		synctest.Test(t, func(t *testing.T) {
			c, b := mainCase(t, provider), newMock(t, provider)
			losing(c)(t, b)
			sent := len(b.writes())
			_, err := c.reconcile(t.Context(), b.newClient(unavez.WithJournal(forgetful{b.journal})), testKey)
			require.Len(t, b.writes(), sent, "nothing is made up at %s", provider)
			review(unavez.Unknown, unavez.ReasonNoRecord, unavez.NextReview).require(t, nil, err)
		})
	}
}
