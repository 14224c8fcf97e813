package sandbox_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/sandbox"
)

func TestIgnoreFilterReturnsEverything(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		own := b.facty("another-key")
		b.ScriptLookups(sandbox.IgnoreFilter())
		require.Equal(t, `{"invoices":[`+own.body+`]}`, b.factyList("?idempotencyKey="+key).body)
		require.Equal(t, `{"invoices":[]}`, b.factyList("?idempotencyKey="+key).body)

		b.ipso(key)
		b.ScriptLookups(sandbox.IgnoreFilter())
		require.Contains(t, b.get("/cfdi?serie=Z&folio=9", "x-api", "k").body, `"folio":"77"`)
	})
}

func TestLagLookupSeesAnEarlierTime(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.StayPending(10 * time.Second))
		b.facty(key)
		look := func(lag time.Duration) string {
			b.ScriptLookups(sandbox.LagLookup(lag))
			return b.factyList("?idempotencyKey=" + key).body
		}
		require.Equal(t, `{"invoices":[]}`, look(time.Second))
		wait(10 * time.Second)
		require.Contains(t, look(0), `"status":"stamped"`)
		require.Contains(t, look(time.Second), `"status":"pending"`)
		require.Equal(t, `{"invoices":[]}`, look(11*time.Second))
	})
}

func TestLookupLagHoldsForEveryLookup(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.facty(key)
		b.ipso(key)
		require.Equal(t, `{"invoices":[]}`, b.factyList("").body)
		require.Equal(t, 404, b.get(factyPath+"/inv_1", "X-API-Key", "fk_1").status)
		require.Equal(t, 404, b.get("/cfdi/cfdi_1", "x-api", "k").status)
		wait(time.Minute)
		require.NotEqual(t, `{"invoices":[]}`, b.factyList("").body)
		require.Equal(t, 200, b.get("/cfdi/cfdi_1", "x-api", "k").status)
	}, sandbox.WithLookupLag(time.Minute))
}

func TestShapeTakesThePlaceOfTheList(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		for _, shape := range []string{`{}`, `{"invoices":null}`, `[]`, `{"invoices":[],"next":"p2"}`} {
			b.ScriptLookups(sandbox.Shape(shape))
			r := b.factyList("?idempotencyKey=" + key)
			require.Equal(t, http.StatusOK, r.status)
			require.Equal(t, shape, r.body)
		}
	})
}

func TestLookupsFailInTheWaysOfWrites(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.ScriptLookups(
			sandbox.Refuse(), sandbox.CloseBefore(), sandbox.ResetAfter(), sandbox.CutBody(3),
			sandbox.Status(503, "busy"), sandbox.HTML(502), sandbox.TooMany("4"), sandbox.Redirect(302, "/x"),
		)
		for range 4 {
			require.Error(t, b.factyList("").err)
		}
		require.Equal(t, "busy", b.factyList("").member("code"))
		require.Equal(t, 502, b.factyList("").status)
		require.Equal(t, "4", b.factyList("").header.Get("Retry-After"))
		require.Equal(t, "/x", b.factyList("").header.Get("Location"))
		require.Equal(t, 200, b.factyList("").status)
		require.Len(t, b.Requests(), 9)
	})
}

func TestLookupsWait(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.ScriptLookups(sandbox.Slow(time.Minute), sandbox.Late(time.Minute), sandbox.HangBefore())
		start := time.Now()
		require.Equal(t, 200, b.factyList("").status)
		require.Equal(t, 200, b.factyList("").status)
		require.Equal(t, 2*time.Minute, time.Since(start))

		ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
		defer cancel()
		r := b.do(ctx, http.MethodGet, factyPath, "", "X-API-Key", "fk_1")
		require.ErrorIs(t, r.err, context.DeadlineExceeded)
	})
}

func TestLookupsTakeNoFaultOfWrites(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.Status(500, ""))
		require.Equal(t, 200, b.factyList("").status)
		require.Equal(t, 1, b.Pending())
	})
}
