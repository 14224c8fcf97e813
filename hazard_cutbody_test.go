package unavez_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// framing is a way in which a body ends before its end.
type framing struct {
	name string
	cut  func(n int) sandbox.Fault
	// spare says that the fault also holds when all of the body has come.
	spare int
}

func framings() []framing {
	return []framing{
		{"by length", sandbox.CutBody, 0},
		{"by chunks", sandbox.CutChunked, 1},
		{"by a stall", sandbox.StallBody, 0},
	}
}

// successLength returns how long the sandbox's answer to the write is, and its status.
func successLength(t *testing.T, c writeCase) (length, status int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, seen := newSandbox(t), &watch{}
		client := b.client(c.provider, seen.option())
		prepare(t, c, client)
		made, err := c.do(t.Context(), client, testKey)
		require.NoError(t, err)
		length, status = len(made.Raw), seen.attempts(testKey)[0].HTTPStatus
	})
	return length, status
}

// cutPoints is every byte of a body. In short mode, and in the further framings of a write that is not its provider's main one, it is
// some of them: the bodies differ, the ways to read them do not.
func cutPoints(c writeCase, f framing, length int) []int {
	step := 1
	isMain := c.operation == unavez.InvoiceCreate || c.operation == unavez.PayoutCreate
	if testing.Short() || !isMain && f.name != "by length" {
		step = 17
	}
	var points []int
	for n := 0; n < length; n += step {
		points = append(points, n)
	}
	return append(points, length-1)
}

func TestSuccessThatWasCutIsFoundOutAndNeverRefused(t *testing.T) {
	t.Parallel()
	for _, c := range everySandboxWrite(t) {
		for _, f := range framings() {
			t.Run(c.String()+" "+f.name, func(t *testing.T) {
				t.Parallel()
				length, _ := successLength(t, c)
				for _, n := range cutPoints(c, f, length+f.spare) {
					synctest.Test(t, func(t *testing.T) { requireFoundOut(t, c, f.cut(n)) })
				}
			})
		}
	}
}

// requireFoundOut performs a write whose good answer is lost, and asks that it is found out as its provider documents.
func requireFoundOut(t *testing.T, c writeCase, fault sandbox.Fault) {
	t.Helper()
	b := newSandbox(t)
	client := b.client(c.provider, unavez.WithTimeout(5*time.Second))
	prepare(t, c, client)
	b.server.Script(fault)

	made, err := c.do(t.Context(), client, testKey)

	writes := len(arrived(b.server, c, testKey))
	require.Equal(t, 1, effects(b.server, c, testKey), "%s: effects in the ledger", fault)
	switch {
	case c.doubtOf() == isResent:
		require.NoError(t, err, "%s", fault)
		require.Equal(t, 2, writes, "%s: the same request once more", fault)
		require.NotNil(t, made)
	case c.isListed():
		require.NoError(t, err, "%s", fault)
		require.Equal(t, 1, writes, "%s: looked up, not sent again", fault)
		require.NotNil(t, made)
	default:
		e := requireError(t, err)
		require.ErrorIs(t, err, unavez.ErrRetryLater, "%s", fault)
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown, "%s", fault)
		require.Equal(t, testKey, e.Key)
		require.Equal(t, 1, writes, "%s: nothing permits another send", fault)
	}
}

func TestSuccessThatWasCutKeepsItsStatusAndKeyWhenTheAttemptsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range everySandboxWrite(t) {
		for _, f := range framings() {
			t.Run(c.String()+" "+f.name, func(t *testing.T) {
				t.Parallel()
				length, status := successLength(t, c)
				for _, n := range []int{0, 1, length / 2, length - 1} {
					synctest.Test(t, func(t *testing.T) {
						b := newSandbox(t)
						client := b.client(c.provider, unavez.WithTimeout(time.Second), unavez.WithMaxAttempts(1))
						prepare(t, c, client)
						b.server.Script(f.cut(n))
						b.server.ScriptLookups(sandbox.HTML(http.StatusBadGateway))

						made, err := c.do(t.Context(), client, testKey)

						require.Nil(t, made)
						e := requireError(t, err)
						what := fmt.Sprintf("cut at %d: %v", n, err)
						require.ErrorIs(t, err, unavez.ErrRetryLater, what)
						require.ErrorIs(t, err, unavez.ErrOutcomeUnknown, what)
						require.Equal(t, testKey, e.Key)
						require.Equal(t, status, e.Attempts[0].HTTPStatus, what)
						require.Equal(t, unavez.Unknown, e.Attempts[0].Effect, what)
						if c.doubtOf() == isResent || c.doubtOf() == isLeft {
							require.Equal(t, status, e.HTTPStatus, what)
						}
						require.Len(t, arrived(b.server, c, testKey), 1)
					})
				}
			})
		}
	}
}
