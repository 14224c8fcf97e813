package unavez_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// identity is the numbering of invoiceParams at Ipsofactura.
func identity() unavez.InvoiceRef {
	return unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "77"}
}

// numberedRow is a row of Ipsofactura's list with the identity given as JSON values; an empty one is left out.
func numberedRow(issuer, series, folio, more string) string {
	members := []string{`"id":"cfdi_1"`, `"folio_fiscal":"` + testUUID + `"`}
	for name, value := range map[string]string{"rfc_emisor": issuer, "serie": series, "folio": folio} {
		if value != "" {
			members = append(members, `"`+name+`":`+value)
		}
	}
	return `{` + strings.Join(members, ",") + more + `}`
}

// askByIdentity reconciles an operation whose answer was lost by its numbering.
func askByIdentity(t *testing.T, found reply) (*mockBundle, *unavez.Invoice, error) {
	t.Helper()
	b := newMock(t, atIpsofactura)
	leaveUnresolved(t, b)
	b.play(found)
	made, err := b.client.Invoices.Reconcile(t.Context(), testKey, unavez.WithReference(identity()))
	return b, made, err
}

func TestNumberedRowIsAdoptedOnlyIfItRepeatsTheWholeIdentity(t *testing.T) {
	t.Parallel()
	ours := numberedRow(`"EKU9003173C9"`, `"B"`, `"77"`, "")
	strange := numberedRow(`"EKU9003173C9"`, `"B"`, `"78"`, "")
	for name, row := range map[string]struct {
		rows   string
		reason unavez.Reason
	}{
		"ours":                  {ours, ""},
		"ours first":            {ours + "," + strange, ""},
		"ours last":             {strange + "," + strange + "," + ours, ""},
		"folio as a number":     {numberedRow(`"EKU9003173C9"`, `"B"`, `77`, ""), ""},
		"type of the document":  {numberedRow(`"EKU9003173C9"`, `"B"`, `"77"`, `,"tipo_comprobante":"I"`), ""},
		"another type":          {numberedRow(`"EKU9003173C9"`, `"B"`, `"77"`, `,"tipo_comprobante":"E"`), unavez.ReasonKeyMismatch},
		"type null":             {numberedRow(`"EKU9003173C9"`, `"B"`, `"77"`, `,"tipo_comprobante":null`), unavez.ReasonKeyMismatch},
		"ours twice":            {ours + "," + ours, unavez.ReasonDuplicate},
		"ours absent":           {strange, unavez.ReasonKeyMismatch},
		"another issuer":        {numberedRow(`"URE180429TM6"`, `"B"`, `"77"`, ""), unavez.ReasonKeyMismatch},
		"issuer in lower case":  {numberedRow(`"eku9003173c9"`, `"B"`, `"77"`, ""), unavez.ReasonKeyMismatch},
		"issuer missing":        {numberedRow("", `"B"`, `"77"`, ""), unavez.ReasonKeyMismatch},
		"issuer null":           {numberedRow("null", `"B"`, `"77"`, ""), unavez.ReasonKeyMismatch},
		"another series":        {numberedRow(`"EKU9003173C9"`, `"b"`, `"77"`, ""), unavez.ReasonKeyMismatch},
		"series missing":        {numberedRow(`"EKU9003173C9"`, "", `"77"`, ""), unavez.ReasonKeyMismatch},
		"folio missing":         {numberedRow(`"EKU9003173C9"`, `"B"`, "", ""), unavez.ReasonKeyMismatch},
		"folio with zeros":      {numberedRow(`"EKU9003173C9"`, `"B"`, `"077"`, ""), unavez.ReasonKeyMismatch},
		"folio with a fraction": {numberedRow(`"EKU9003173C9"`, `"B"`, `77.0`, ""), unavez.ReasonKeyMismatch},
		"folio with a space":    {numberedRow(`"EKU9003173C9"`, `"B"`, `"77 "`, ""), unavez.ReasonKeyMismatch},
		"folio in a list":       {numberedRow(`"EKU9003173C9"`, `"B"`, `["77"]`, ""), unavez.ReasonKeyMismatch},
	} {
		for _, list := range []string{`[%s]`, `{"data":[%s]}`, `{"items":[%s]}`, `{"results":[%s]}`, `{"cfdi":[%s]}`} {
			t.Run(name+" "+list, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b, made, err := askByIdentity(t, answer(200, fmt.Sprintf(list, row.rows)))

					require.Len(t, b.writes(), 1, "something was sent again")
					if row.reason == "" {
						require.NoError(t, err)
						require.Equal(t, testUUID, made.UUID)
						return
					}
					require.Nil(t, made, "somebody else's document was adopted")
					require.Equal(t, row.reason, requireError(t, err).Reason)
				})
			})
		}
	}
}

func TestNumberedRowWithoutAWellFormedUUIDIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	for _, uuid := range []string{`null`, `""`, `"x"`, `7`, `[]`, `"` + testUUID + `0"`, absent} {
		for _, word := range []string{`"stamped"`, `"timbrado"`, `"pending"`, `null`, absent} {
			t.Run(uuid+" "+word, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					row := `{"id":"cfdi_1","rfc_emisor":"EKU9003173C9","serie":"B","folio":"77"`
					if uuid != absent {
						row += `,"folio_fiscal":` + uuid
					}
					if word != absent {
						row += `,"status":` + word
					}

					b, made, err := askByIdentity(t, answer(200, `{"data":[`+row+`}]}`))

					require.Nil(t, made)
					e := requireError(t, err)
					require.Equal(t, unavez.NeedsManualReview, e.Disposition)
					require.Equal(t, unavez.ReasonUnknownStatus, e.Reason)
					require.Len(t, b.writes(), 1)
				})
			})
		}
	}
}

func TestNumberedListOfAnotherShapeTeachesNothing(t *testing.T) {
	t.Parallel()
	ours := numberedRow(`"EKU9003173C9"`, `"B"`, `"77"`, "")
	for _, shape := range []string{
		``, `null`, `{}`, `7`, `"x"`, `{"data":null}`, `{"data":{}}`, `{"data":` + ours + `}`, `{"rows":[` + ours + `]}`, `{"data":[7]}`, `[null]`, `[[]]`,
		`{"data":[],"next":"p2"}`, `{"data":[],"has_more":true}`, `{"data":[],"total":3}`, `{"error":"down"}`, `{"code":"X","message":"y"}`, `[` + ours, `<html>`,
	} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, made, err := askByIdentity(t, answer(200, shape))

				require.Nil(t, made)
				e := requireError(t, err)
				require.Equal(t, unavez.RetryLater, e.Disposition)
				require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
				require.Len(t, b.writes(), 1)
			})
		})
	}
}

func TestLookupThatFailsTeachesNothing(t *testing.T) {
	t.Parallel()
	failures := map[string]reply{
		"no connection": noConnection(), "lost": lostAnswer(), "cut": cutAnswer(200, `{"invoices":[`), "401": answer(401, ""), "403": answer(403, ""),
		"404": answer(404, ""), "400": answer(400, ""), "409": answer(409, ""), "422": answer(422, ""), "429": answer(429, "", "Retry-After: 3600"),
		"500": answer(500, ""), "302": answer(302, "", "Location: https://elsewhere.example/"), "page": answer(200, "<html></html>"),
	}
	for name, failed := range failures {
		for _, provider := range []string{atFacty, atIpsofactura} {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newMock(t, provider)
					leaveUnresolved(t, b)
					b.play(failed)

					made, err := b.client.Invoices.Reconcile(t.Context(), testKey, unavez.WithReference(identity()))

					require.Nil(t, made)
					e := requireError(t, err)
					require.Equal(t, unavez.RetryLater, e.Disposition)
					require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
					require.Len(t, b.writes(), 1, "sent again because a lookup failed")
					if name == "401" || name == "403" {
						require.ErrorIs(t, err, unavez.ErrUnauthorized)
					}
				})
			})
		}
	}
}
