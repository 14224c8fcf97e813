package sandbox_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/sandbox"
)

func TestIpsofacturaReplaysItsAnswerByteForByte(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		first := b.ipso(key)
		require.Equal(t, http.StatusCreated, first.status)
		require.NotEmpty(t, first.member("folio_fiscal"))
		require.Equal(t, key, first.member("idempotency_key"))
		require.Empty(t, first.header.Get("Idempotency-Replayed"))

		again := b.ipso(key)
		require.Equal(t, http.StatusCreated, again.status)
		require.Equal(t, first.body, again.body)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestIpsofacturaRefusesAnotherBodyUnderAKey(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.ipso(key)
		r := b.post(ipsoPath, ipsoBody+" ", "x-api", "k", "Idempotency-Key", key)
		require.Equal(t, http.StatusUnprocessableEntity, r.status)
		require.Equal(t, "IDEMPOTENCY_KEY_REUSED", r.member("code"))
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestIpsofacturaTakesTheKeyFromTheBodyToo(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		body := `{"rfc_emisor":"EKU9003173C9","idempotency_key":"` + key + `","serie":"A","folio":1042}`
		first := b.post(ipsoPath, body, "x-api", "k")
		require.Equal(t, http.StatusCreated, first.status)
		require.Equal(t, "1042", first.member("folio"))
		require.NotContains(t, first.body, "idempotency_key", "only a key of the header is told")
		require.Equal(t, "true", b.post(ipsoPath, body, "x-api", "k").header.Get("Idempotency-Replayed"))
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestIpsofacturaRefusesTwoDifferentKeysInOneRequest(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		r := b.post(ipsoPath, `{"idempotency_key":"a"}`, "x-api", "k", "Idempotency-Key", "b")
		require.Equal(t, http.StatusBadRequest, r.status)
		require.Equal(t, "VALIDATION_ERROR", r.member("code"))
		require.Empty(t, b.Ledger())
		require.Equal(t, 201, b.post(ipsoPath, `{"idempotency_key":"b"}`, "x-api", "k", "Idempotency-Key", "b").status)
	})
}

func TestIpsofacturaRefusesMalformedKeys(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		for k, status := range map[string]int{
			"a":                      201,
			strings.Repeat("k", 100): 201,
			strings.Repeat("k", 101): 400,
			"a b":                    400,
			"ñ":                      400,
		} {
			r := b.post(ipsoPath, ipsoBody, "x-api", "k", "Idempotency-Key", k)
			require.Equal(t, status, r.status, k)
		}
		require.Equal(t, 400, b.post(ipsoPath, `{"idempotency_key":7}`, "x-api", "k").status)
		require.Equal(t, 400, b.post(ipsoPath, `{"idempotency_key":""}`, "x-api", "k").status)
	})
}

func TestIpsofacturaDerivesAKeyFromSeriesAndFolio(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		first := b.post(ipsoPath, ipsoBody, "x-api", "k")
		again := b.post(ipsoPath, ipsoBody, "x-api", "k")
		require.Equal(t, first.body, again.body)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))

		other := strings.Replace(ipsoBody, `"77"`, `"78"`, 1)
		require.NotEqual(t, first.body, b.post(ipsoPath, other, "x-api", "k").body)
		require.Equal(t, 2, b.Stamps())
	})
}

func TestIpsofacturaStampsEverySendWithoutKeyAndFolio(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		for range 2 {
			require.Equal(t, 201, b.post(ipsoPath, `{"rfc_emisor":"EKU9003173C9","serie":"B"}`, "x-api", "k").status)
		}
		require.Equal(t, 2, b.Stamps())
	})
}

func TestIpsofacturaReplaysWhatDependsOnTheRequest(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404, 409, 422} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				b.Script(sandbox.Status(status, "SOME_CODE"))
				first := b.ipso(key)
				again := b.ipso(key)
				require.Equal(t, status, again.status)
				require.Equal(t, first.body, again.body)
				require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
				require.Empty(t, b.Ledger())
			})
		})
	}
}

func TestIpsofacturaFreesTheKeyAfterOtherErrors(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 402, 403, 408, 429, 500, 502, 503, 504} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				b.Script(sandbox.Status(status, ""))
				require.Equal(t, status, b.ipso(key).status)
				require.Equal(t, http.StatusCreated, b.ipso(key).status)
			})
		})
	}
}

func TestIpsofacturaReplaysItsOwnValidationError(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		for _, replayed := range []string{"", "true"} {
			r := b.post(ipsoPath, `{"conceptos":{}}`, "x-api", "k", "Idempotency-Key", key)
			require.Equal(t, http.StatusBadRequest, r.status)
			require.Equal(t, "VALIDATION_ERROR", r.member("code"))
			require.Equal(t, replayed, r.header.Get("Idempotency-Replayed"))
		}
	})
}

func TestIpsofacturaNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for body, member := range map[string]string{
		`[]`:                     "object",
		`{"rfc_emisor":1}`:       "rfc_emisor",
		`{"folio":true}`:         "folio",
		`{"receptor":"x"}`:       "receptor",
		`{"pagos":[1]}`:          "pagos",
		`{"xml_base64":"<xml>"}`: "xml_base64",
	} {
		t.Run(member, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				path := ipsoPath
				if member == "xml_base64" {
					path = "/cfdi/timbrar-xml"
				}
				r := b.post(path, body, "x-api", "k")
				require.Equal(t, http.StatusBadRequest, r.status)
				require.Contains(t, r.member("message"), member)
			})
		})
	}
}

func TestIpsofacturaForgetsAKeyAfter96Hours(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.ipso(key)
		b.Advance(96*time.Hour - time.Second)
		require.Equal(t, "true", b.ipso(key).header.Get("Idempotency-Replayed"))
		b.Advance(time.Second)
		require.Equal(t, 201, b.ipso(key).status)
		require.Equal(t, 2, b.Effects(key))
	})
}

func TestIpsofacturaSettlesAnUnknownOutcomeIntoTheOriginalAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.StayPending(10 * time.Minute))
		r := b.ipso(key)
		require.Equal(t, http.StatusServiceUnavailable, r.status)
		require.Equal(t, "STAMPING_OUTCOME_UNKNOWN", r.member("code"))
		require.Equal(t, "60", r.member("retry_after"))
		require.Equal(t, "60", r.header.Get("Retry-After"))
		require.Equal(t, key, r.member("idempotency_key"))

		dup := b.ipso(key)
		require.Equal(t, http.StatusConflict, dup.status)
		require.Equal(t, "DUPLICATE_IN_PROGRESS", dup.member("code"))
		require.Equal(t, "60", dup.header.Get("Retry-After"))
		row := b.get("/cfdi?serie=B&folio=77&rfc_emisor=EKU9003173C9", "x-api", "k")
		require.Contains(t, row.body, `"folio_fiscal":null`)

		wait(10 * time.Minute)
		done := b.ipso(key)
		require.Equal(t, http.StatusCreated, done.status)
		require.Equal(t, "true", done.header.Get("Idempotency-Replayed"))
		require.Equal(t, 1, b.Effects(key))
		require.Equal(t, b.Ledger()[0].At, b.Now(), "it happened when it settled")
	})
}

func TestIpsofacturaAnnouncesTheNextCheckIfItIsNear(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.StayPending(2500 * time.Millisecond))
		require.Equal(t, "3", b.ipso(key).header.Get("Retry-After"))
	})
}

func TestIpsofacturaKeepsAnUnresolvedKeyFor96Hours(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Fault{
		"given up":      sandbox.PendingThenFail(time.Hour),
		"beyond 72 h":   sandbox.StayPending(73 * time.Hour),
		"never settled": sandbox.OutcomeUnknown(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				b.Script(fault)
				require.Equal(t, 503, b.ipso(key).status)
				wait(95 * time.Hour)
				require.Equal(t, "DUPLICATE_IN_PROGRESS", b.ipso(key).member("code"))
				require.Empty(t, b.Ledger())
				wait(time.Hour)
				require.Equal(t, 201, b.ipso(key).status)
			})
		})
	}
}

func TestIpsofacturaRejectionIsReplayed(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.Reject("CFDI40147"))
		first := b.ipso(key)
		require.Equal(t, http.StatusUnprocessableEntity, first.status)
		require.Equal(t, "CFDI40147", first.member("code"))
		require.Equal(t, first.body, b.ipso(key).body)
		require.Equal(t, `{"data":[]}`, b.get("/cfdi?serie=B&folio=77", "x-api", "k").body)
	})
}

func TestIpsofacturaComplementReplaysItsRelatedDocuments(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		body := `{"serie":"P","folio":"1","pagos":[{"documentos_relacionados":[{"num_parcialidad":1}]}]}`
		b.Script(sandbox.StayPending(time.Minute))
		require.Equal(t, 503, b.post("/cfdi/complemento-pago", body, "x-api", "k", "Idempotency-Key", key).status)
		wait(time.Minute)
		r := b.post("/cfdi/complemento-pago", body, "x-api", "k", "Idempotency-Key", key)
		require.Equal(t, 201, r.status)
		require.Equal(t, `[{"num_parcialidad":1}]`, r.member("documentos_relacionados"))
		require.Equal(t, "P", r.member("tipo_comprobante"))
	})
}

func TestIpsofacturaFindsAnXMLByItsOwnSeriesAndFolio(t *testing.T) {
	t.Parallel()
	for path, op := range map[string]sandbox.Operation{
		"/cfdi/timbrar-xml": sandbox.OpXML, "/cfdi/timbrar-sellado": sandbox.OpSealedXML,
	} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				cfdi := `<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/4" Serie="X" Folio="007" TipoDeComprobante="E">` +
					`<cfdi:Emisor Rfc="EKU9003173C9"/></cfdi:Comprobante>`
				body := `{"xml_base64":"` + base64.StdEncoding.EncodeToString([]byte(cfdi)) + `"}`
				require.Equal(t, 201, b.post(path, body, "x-api", "k", "Idempotency-Key", key).status)
				require.Equal(t, op, b.Ledger()[0].Operation)
				r := b.get("/cfdi?serie=X&folio=007&rfc_emisor=EKU9003173C9", "x-api", "k")
				require.Contains(t, r.body, `"tipo_comprobante":"E","serie":"X","folio":"007"`)
			})
		})
	}
}

func TestIpsofacturaCancelsOnceUnderItsKey(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		uuid := b.ipso(key).member("folio_fiscal")
		cancel := func(k, body string) reply {
			return b.post("/cfdi/cancelar", body, "x-api", "k", "Idempotency-Key", k)
		}
		require.Equal(t, 200, cancel("c-1", `{"uuid":"`+uuid+`","motivo":"02"}`).status)
		require.Equal(t, "true", cancel("c-1", `{"uuid":"`+uuid+`","motivo":"02"}`).header.Get("Idempotency-Replayed"))
		require.Equal(t, 1, b.Effects("c-1"))
		require.Equal(t, 409, cancel("c-2", `{"id":"cfdi_1"}`).status)
		require.Equal(t, 404, cancel("c-3", `{"id":"cfdi_9"}`).status)
		require.Equal(t, 400, cancel("c-4", `{}`).status)
		require.Equal(t, "cancelado", b.get("/cfdi/cfdi_1", "x-api", "k").member("status"))
	})
}

func TestIpsofacturaFindsByIdentityAndByID(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		uuid := b.ipso(key).member("folio_fiscal")
		require.Contains(t, b.get("/cfdi?serie=B&folio=77&rfc_emisor=EKU9003173C9", "x-api", "k").body, uuid)
		require.Equal(t, `{"data":[]}`, b.get("/cfdi?serie=B&folio=78&rfc_emisor=EKU9003173C9", "x-api", "k").body)
		require.Equal(t, uuid, b.get("/cfdi/cfdi_1", "x-api", "k").member("folio_fiscal"))
		require.Equal(t, 404, b.get("/cfdi/cfdi_9", "x-api", "k").status)
	})
}
