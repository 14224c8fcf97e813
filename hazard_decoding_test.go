package unavez_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// oddValues are JSON values of every type, and the dates that other people's clients stumbled over.
func oddValues() []string {
	return []string{
		`null`, `""`, `"2026-08-11T10:20:30"`, `"2026-08-11T10:20:30Z"`, `"not a date"`, `7`, `-1.5e300`, `1e999`, `12345678901234567890.123`, `true`,
		`false`, `[]`, `{}`, `[null,{"a":[[]]}]`, `{"uuid":{"a":"b"}}`, "\"A\xf1O\"", `"` + strings.Repeat("x", 4096) + `"`, `"\ud800"`, `"\u0000"`,
	}
}

// absent leaves the member out, twice names it twice.
const absent, twice = "absent", "twice"

// provingMembers are what alone proves a success; every other member proves nothing.
func (c writeCase) provingMembers() []string {
	switch c.provider {
	case atPayouts:
		return []string{"id", "status"}
	case atIpsofactura:
		return []string{"folio_fiscal"}
	}
	return []string{"uuid"}
}

// provesNothing are the members that an answer has or may have, beside its proof.
func provesNothing(provider string) []string {
	switch provider {
	case atFacty:
		return []string{
			"id", "serie", "folio", "total", "moneda", "stampedAt", "status", "paymentId", "paymentInvoiceId", "estado", "requestId", "fieldErrors", "type",
		}
	case atIpsofactura:
		return []string{"id", "serie", "folio", "total", "moneda", "fecha_timbrado", "status", "estatus", "documentos_relacionados", "message", "retry_after"}
	case atFiscalisto:
		return []string{"id", "status", "total", "error", "created_at", "customer"}
	}
	return []string{"quoteId", "method", "beneficiaryId", "error", "createdAt", "amount"}
}

// withMember returns the success of the write with a member in an odd form.
func (c writeCase) withMember(t *testing.T, name, value string) string {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(c.success), &members))
	delete(members, name)
	body := `{`
	for member, text := range members {
		body += `"` + member + `":` + string(text) + `,`
	}
	switch value {
	case absent:
		return strings.TrimSuffix(body, ",") + `}`
	case twice:
		return body + `"` + name + `":1,"` + name + `":"two"}`
	}
	return body + `"` + name + `":` + value + `}`
}

func TestFieldThatProvesNothingNeverSpoilsASuccess(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		for _, name := range provesNothing(c.provider) {
			for i, value := range append(oddValues(), absent, twice) {
				t.Run(fmt.Sprintf("%s %s %d", c, name, i), func(t *testing.T) {
					t.Parallel()
					b := newMock(t, c.provider)
					body := c.withMember(t, name, value)
					b.play(answer(201, body))

					made, err := c.do(t.Context(), b.client, testKey)

					require.NoError(t, err, "%s", body)
					require.NotNil(t, made)
					if c.provingMembers()[0] != "id" && strings.Contains(c.success, testUUID) {
						require.Equal(t, testUUID, made.UUID, "%s", body)
					}
					require.Equal(t, body, string(made.Raw), "Raw is the answer, byte for byte")
				})
			}
		}
	}
}

func TestDateOfAnAnswerIsKeptAsWritten(t *testing.T) {
	t.Parallel()
	for _, written := range []string{"2026-08-11T10:20:30", "2026-08-11 10:20:30", "2026-08-11T10:20:30-06:00", "11/08/2026", "2026-13-45T99:99:99"} {
		t.Run(written, func(t *testing.T) {
			t.Parallel()
			c, b := mainCase(t, atFacty), newMock(t, atFacty)
			b.play(answer(201, c.withMember(t, "stampedAt", `"`+written+`"`)))
			made, err := b.client.Invoices.Create(t.Context(), invoiceParams(atFacty), unavez.WithIdempotencyKey(testKey))
			require.NoError(t, err)
			require.Equal(t, written, made.StampedAt)
		})
	}
}

// unreadable are bodies of errors without any code that a page lists: other shapes, other media, HTML, cut and empty.
func unreadable() map[string]reply {
	const page = "<html><head><title>502 Bad Gateway</title></head><body><h1>planted-page</h1></body></html>"
	rows := map[string]reply{
		"HTML":          answer(0, page, "Content-Type: text/html"),
		"HTML as JSON":  answer(0, page, "Content-Type: application/json"),
		"text":          answer(0, "upstream planted-page error", "Content-Type: text/plain"),
		"truncated":     answer(0, `{"error":{"code":"planted-page","mess`),
		"invalid UTF-8": answer(0, "{\"code\":\"planted\xf1page\",\"error\":\"\xff\xfe\"}"),
		"BOM":           answer(0, "\ufeff{}"),
		"cut":           cutAnswer(0, `{"code":"planted-page"`),
		"XML":           answer(0, `<?xml version="1.0"?><error>planted-page</error>`, "Content-Type: application/xml"),
		"two objects":   answer(0, `{}{}`),
		"deep":          answer(0, strings.Repeat("[", 9000)+strings.Repeat("]", 9000)),
	}
	for _, shape := range []string{
		`{}`, `[]`, `"text"`, `null`, `7`, `true`, `{"error":"x"}`, `{"error":["a"]}`, `{"error":{"code":429}}`, `{"error":{"code":["a"]}}`, `{"code":"X"}`,
		`{"code":7}`, `{"code":null}`, `{"code":{"code":"X"}}`, `{"code":["X"]}`, `{"error":{"error":{"code":"X"}}}`, `{"error":null}`, `[{"code":"X"}]`,
		`{"message":{"a":1}}`, `{"retry_after":{}}`, `{"code":"A","code":"B"}`, `{"fieldErrors":[]}`, `{"fieldErrors":"x"}`, `{"error":{"code":"x y z"}}`,
	} {
		rows[shape] = answer(0, shape)
	}
	return rows
}

// outcomeOf is what a caller can tell two errors apart by.
func outcomeOf(e *unavez.Error) string {
	var marks []string
	for _, mark := range []error{
		unavez.ErrOutcomeUnknown, unavez.ErrKeyReused, unavez.ErrUnauthorized, unavez.ErrInsufficientBalance, unavez.ErrKeyInvalid, unavez.ErrNotFound,
	} {
		if errors.Is(e, mark) {
			marks = append(marks, mark.Error())
		}
	}
	return fmt.Sprint(e.Disposition, e.Effect, e.Next, e.Reason, marks, e.HTTPStatus, e.RetryAfter, len(e.Attempts))
}

// endOf performs a write that is answered once, and fails every lookup.
func endOf(t *testing.T, provider string, status int, r reply) *unavez.Error {
	t.Helper()
	var e *unavez.Error
	synctest.Test(t, func(t *testing.T) {
		c, b := mainCase(t, provider), newMock(t, provider, unavez.WithMaxAttempts(1))
		r.status = status
		r.header = r.header.Clone()
		r.header.Set("Retry-After", "2")
		b.play(r, answer(500, ""))
		_, err := c.do(t.Context(), b.client, testKey)
		e = requireError(t, err)
	})
	return e
}

// errorStatuses are every status of an error that a server sends, and some that none should.
func errorStatuses() []int {
	return slices.Concat([]int{400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 422, 423, 425, 426, 429, 451, 499},
		[]int{500, 501, 502, 503, 504, 505, 507, 511, 520, 524, 599})
}

func TestBodyThatCannotBeReadNeverChangesWhatTheStatusDecides(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, status := range errorStatuses() {
			t.Run(fmt.Sprint(provider, " ", status), func(t *testing.T) {
				t.Parallel()
				want := outcomeOf(endOf(t, provider, status, answer(0, "")))
				for name, r := range unreadable() {
					e := endOf(t, provider, status, r)
					require.Equal(t, want, outcomeOf(e), "%s against an empty body", name)
					for _, text := range []string{e.Error(), e.Explain()} {
						require.NotContains(t, text, "<", "%s: a page is in the text", name)
						require.NotContains(t, text, "planted-page upstream", name)
					}
				}
			})
		}
	}
}

func TestGatewayPageIsFollowedLikeAnyOtherErrorOfTheServer(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, status := range []int{502, 504} {
			t.Run(fmt.Sprint(provider, " ", status), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, b := mainCase(t, provider), newMock(t, provider)
					b.play(answer(status, "<html>"+strings.Repeat("x", 120)+"</html>", "Content-Type: text/html", "Retry-After: 2"))
					if provider == atFacty {
						b.play(answer(200, `{"invoices":[{"id":"inv_1","idempotencyKey":"`+testKey+`","status":"stamped","uuid":"`+testUUID+`"}]}`))
					} else {
						b.play(answer(201, c.success))
					}

					made, err := c.do(t.Context(), b.client, testKey)

					require.NoError(t, err)
					require.NotNil(t, made)
					require.Equal(t, 2*time.Second, b.all()[1].At, "Retry-After of the page")
				})
			})
		}
	}
}

func TestCodeMayBeANumber(t *testing.T) {
	t.Parallel()
	for provider, body := range map[string]string{
		atFacty: `{"code":40147}`, atIpsofactura: `{"code":40147}`, atFiscalisto: `{"error":{"code":40147}}`, atPayouts: `{"error":{"code":40147}}`,
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, "40147", endOf(t, provider, 422, answer(0, body)).Code)
		})
	}
}
