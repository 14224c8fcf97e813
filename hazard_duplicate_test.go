package unavez_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// stampedBefore are bodies that say in a provider's envelope that the document was stamped before; those with data show a UUID.
func stampedBefore(provider string) map[string]string {
	const cfdi = `<cfdi:Comprobante><tfd:TimbreFiscalDigital UUID=\"` + testUUID + `\"/></cfdi:Comprobante>`
	flat := map[string]string{
		"code":                `{"code":"307"}`,
		"code with letters":   `{"code":"CFDI307"}`,
		"code as a number":    `{"code":307}`,
		"code and data":       `{"code":"307","data":{"cfdi":"` + cfdi + `"}}`,
		"code and uuid":       `{"code":"307","data":{"uuid":"` + testUUID + `","folio_fiscal":"` + testUUID + `"}}`,
		"code, status, null":  `{"status":"error","code":"307","data":null}`,
		"code and empty data": `{"code":"307","data":{"cfdi":""}}`,
	}
	switch provider {
	case atFacty:
		flat["message"] = `{"error":"307. El comprobante contiene un timbre previo"}`
		flat["message and data"] = `{"status":"error","error":"307 stamped before","data":{"cfdi":"` + cfdi + `"}}`
		return flat
	case atIpsofactura:
		flat["message"] = `{"message":"307. El comprobante contiene un timbre previo"}`
		flat["message and data"] = `{"status":"error","message":"307 stamped before","data":{"cfdi":"` + cfdi + `"}}`
		return flat
	}
	return map[string]string{
		"code": `{"error":{"code":"307"}}`, "code with letters": `{"error":{"code":"CFDI307"}}`, "code as a number": `{"error":{"code":307}}`,
		"message":  `{"error":{"message":"307. El comprobante contiene un timbre previo"}}`,
		"and data": `{"error":{"code":"307"},"data":{"cfdi":"` + cfdi + `"}}`,
	}
}

// stampers are the providers that stamp.
func stampers() []string { return []string{atFacty, atIpsofactura, atFiscalisto} }

func TestStampedBeforeIsFoundOutAndReturned(t *testing.T) {
	t.Parallel()
	for _, provider := range stampers() {
		for name, body := range stampedBefore(provider) {
			for _, status := range []int{200, 201, 400, 409, 422, 500, 503} {
				for _, p := range pasts() {
					t.Run(fmt.Sprint(provider, " ", status, " ", name, " ", p.name), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							c, b := mainCase(t, provider), newMock(t, provider)
							replies := []reply{answer(status, body), answer(200, c.success)}
							if provider == atFacty {
								replies[1] = answer(200, factyList(factyRow(testKey, "stamped", testUUID)))
								if p.isUncertain { // then it is asked, and nothing is sent
									replies = replies[1:]
								}
							}

							made, err := p.meet(t, b, c, replies...)

							require.NoError(t, err)
							require.Equal(t, testUUID, made.UUID)
							requireSameBytes(t, b.writes())
						})
					})
				}
			}
		}
	}
}

func TestStampedBeforeIsNeverRefusedAndKeepsItsEvidence(t *testing.T) {
	t.Parallel()
	for _, provider := range stampers() {
		for name, body := range stampedBefore(provider) {
			for _, status := range []int{200, 400, 422, 500} {
				t.Run(fmt.Sprint(provider, " ", status, " ", name), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						c, b := mainCase(t, provider), newMock(t, provider, unavez.WithMaxAttempts(2))
						b.play(answer(status, body))
						if provider == atFacty {
							b.play(answer(200, `{"invoices":[]}`), answer(200, `{"invoices":[]}`))
						} else {
							b.play(answer(status, body))
						}

						made, err := c.do(t.Context(), b.client, testKey)

						require.Nil(t, made)
						e := requireError(t, err)
						require.NotEqual(t, unavez.Refused, e.Disposition)
						require.Equal(t, unavez.Executed, e.Effect, "the provider says that it was done")
						require.NotEqual(t, unavez.NextFixNewKey, e.Next)
						require.NotEqual(t, unavez.NextFixSameKey, e.Next)
						require.NotEqual(t, unavez.NextResend, e.Next)
						if name == "code and data" || name == "code and uuid" || name == "message and data" || name == "and data" {
							require.Equal(t, testUUID, e.UUID, "the UUID that the answer showed")
						}
						if provider == atFacty {
							require.Len(t, b.writes(), 1, "sent again though it was stamped before")
						}
					})
				})
			}
		}
	}
}

func TestStampedBeforeKeepsItsEvidenceWhenTheLookupFails(t *testing.T) {
	t.Parallel()
	for name, lookup := range map[string]reply{
		"gateway": answer(502, ""), "another shape": answer(200, `{}`), "others' rows": answer(200, factyList(factyRow("other", "stamped", anotherUUID("o")))),
		"lost": lostAnswer(), "401": answer(401, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, b := mainCase(t, atFacty), newMock(t, atFacty, unavez.WithMaxAttempts(1))
				b.play(answer(400, `{"code":"307","data":{"uuid":"`+testUUID+`"}}`), lookup)

				_, err := c.do(t.Context(), b.client, testKey)

				e := requireError(t, err)
				require.NotEqual(t, unavez.Refused, e.Disposition)
				require.Equal(t, testUUID, e.UUID)
				require.Len(t, b.writes(), 1)
			})
		})
	}
}

func TestOtherCodesAreNotTakenForStampedBefore(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"code":"3070"}`, `{"code":"1307"}`, `{"code":"CFDI40307"}`, `{"message":"3070 x"}`, `{"message":"error 307"}`, `{"code":"30-7"}`,
		`{"code":"307x"}`, `{"data":{"code":"307"}}`, `{"message":"30.7"}`,
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, unavez.Refused, endOf(t, atIpsofactura, 422, answer(0, body)).Disposition)
		})
	}
}
