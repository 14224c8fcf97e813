package unavez_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/unavez/unavez"
)

// FuzzErrorEnvelope gives any bytes under any status to every provider's tables. What cannot be read must change nothing: the effect is
// that of an empty body, unless a code was found that the page lists. And nothing is a success without what proves it.
func FuzzErrorEnvelope(f *testing.F) {
	for _, body := range []string{
		"", "null", "[]", `"text"`, "{}", "7", "{", `{"error":"x"}`, `{"error":["a"]}`, `{"error":{"code":429}}`, `{"code":"X"}`, `{"code":429}`,
		`{"code":null,"error":null}`, `{"error":{"code":"idempotency_key_reused"}}`, `{"code":"IDEMPOTENCY_KEY_REUSED"}`,
		`{"code":"DUPLICATE_IN_PROGRESS"}`, `{"code":"STAMPING_OUTCOME_UNKNOWN","retry_after":60}`, `{"error":{"code":"request_in_progress"}}`,
		`{"error":{"code":"idempotency_request_in_flight"}}`, `{"error":{"code":"quote_already_consumed"}}`,
		`{"error":{"code":"no_provider_available"}}`, `{"error":{"code":"invoice_invalid"}}`, `{"error":{"code":"invoice_rejected"}}`,
		`{"code":"CFDI307"}`, `{"code":"307"}`, `{"message":"307 ya timbrado","data":{"uuid":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55"}}`,
		`{"error":"x","code":"VALIDATION_ERROR","fieldErrors":{"items.0":"y"}}`, `{"fieldErrors":[]}`, `{"code":"X","code":"Y"}`,
		`{"uuid":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55"}`, `{"folio_fiscal":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55","id":"a"}`,
		`{"uuid":null,"status":"pending"}`, `{"uuid":"","status":"stamped"}`, `{"id":"po_1","status":"failed"}`, `{"id":"po_1","status":"unknown"}`,
		`{"id":"po_1","status":"processing"}`, `{"status":"STAMPED "}`, `{"id":7,"status":"x"}`, "<html>502</html>", "{\"code\":\"A\xf1O\"}",
		`{"uuid":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55","idempotencyKey":"other"}`, `{"err\u006fr":{"c\u006fde":"request_in_progress"}}`,
	} {
		for _, status := range []int{0, 100, 200, 201, 202, 302, 400, 401, 402, 403, 404, 408, 409, 422, 425, 429, 500, 502, 503, 599, 999} {
			f.Add(status, []byte(body))
		}
	}
	judges := newEnvelopeJudges(f)
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		for _, judge := range judges {
			judge.check(t, status, body)
		}
	})
}

// envelopeJudge is one provider's client and a prepared write.
type envelopeJudge struct {
	name   string
	client *unavez.Client
	intent unavez.Intent
	codes  map[string]bool // those that the provider's table lists
	words  map[string]bool
}

func newEnvelopeJudges(tb testing.TB) []*envelopeJudge {
	tb.Helper()
	operations := map[string]*unavez.Operation{
		"facty":       {Name: unavez.InvoiceCreate, Invoice: &unavez.InvoiceParams{Raw: []byte(`{}`)}},
		"ipsofactura": {Name: unavez.InvoiceCreate, Invoice: &unavez.InvoiceParams{Raw: []byte(`{}`)}},
		"fiscalisto":  {Name: unavez.InvoiceCreate, Invoice: &unavez.InvoiceParams{Raw: []byte(`{}`)}},
		"payouts":     {Name: unavez.PayoutCreate, Payout: &unavez.PayoutParams{Raw: []byte(`{}`)}},
	}
	var judges []*envelopeJudge
	for _, name := range []string{"facty", "ipsofactura", "fiscalisto", "payouts"} {
		client, err := unavez.New(propertyProvider(name))
		if err != nil {
			tb.Fatal(err)
		}
		intent, err := client.Prepare(operations[name], unavez.WithIdempotencyKey(propertyKey))
		if err != nil {
			tb.Fatal(err)
		}
		profile, err := propertyProvider(name).Profile("")
		if err != nil {
			tb.Fatal(err)
		}
		judge := &envelopeJudge{name: name, client: client, intent: intent, codes: map[string]bool{}, words: map[string]bool{}}
		for _, rule := range profile.Rules {
			judge.codes[rule.Code] = rule.Code != ""
			judge.words[rule.Word] = rule.Word != ""
		}
		judges = append(judges, judge)
	}
	return judges
}

func (j *envelopeJudge) check(t *testing.T, status int, body []byte) {
	t.Helper()
	got := j.client.JudgeForTest(&j.intent, status, http.Header{}, body)
	empty := j.client.JudgeForTest(&j.intent, status, http.Header{}, nil)
	if got.Effect == "" || empty.HasDocument {
		t.Fatalf("%s: status %d and body %q: effect %q", j.name, status, body, got.Effect)
	}
	if got.HasDocument {
		j.requireProof(t, status, body)
		return
	}
	if got.Effect == unavez.Executed && !strings.Contains(string(body), "307") {
		t.Fatalf("%s: status %d and body %q: executed, and nothing says so", j.name, status, body)
	}
	isListed := j.codes[got.Code] || strings.Contains(string(body), "307") || status/100 == 2 && j.holdsWord(body)
	if got.Effect != empty.Effect && !isListed {
		t.Fatalf("%s: status %d and body %q: effect %s, without the body %s", j.name, status, body, got.Effect, empty.Effect)
	}
	if got.IsResent && !empty.IsResent && !isListed {
		t.Fatalf("%s: status %d and body %q: sent again, and without the body not", j.name, status, body)
	}
	if got.Code != "" && !j.holdsCode(body, got.Code) {
		t.Fatalf("%s: status %d and body %q: code %q is not in it", j.name, status, body, got.Code)
	}
}

func (j *envelopeJudge) holdsWord(body []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(body, &object) == nil && scalarOf(object["status"]) != ""
}

// holdsCode reads the code with encoding/json, which takes the last of several members and any letter case: it must be at least as
// willing as the SDK.
func (j *envelopeJudge) holdsCode(body []byte, code string) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return false
	}
	if j.name == "payouts" || j.name == "fiscalisto" {
		inner := object["error"]
		object = nil
		if json.Unmarshal(inner, &object) != nil {
			return false
		}
	}
	value := object["code"]
	var text string
	if json.Unmarshal(value, &text) == nil && text == code {
		return true
	}
	return string(value) == code
}

// requireProof is what a success must hold: a 2xx status, one JSON object, and in it a fiscal UUID, or a payout's id and word.
func (j *envelopeJudge) requireProof(t *testing.T, status int, body []byte) {
	t.Helper()
	var object map[string]json.RawMessage
	if status < 200 || status > 299 || json.Unmarshal(body, &object) != nil || object == nil {
		t.Fatalf("%s: status %d and body %q are no success", j.name, status, body)
	}
	if j.name == "payouts" {
		id, word := scalarOf(object["id"]), scalarOf(object["status"])
		if id == "" || word == "" || word == "failed" || word == "unknown" {
			t.Fatalf("a payout without id or a good word is no success: %q", body)
		}
		return
	}
	uuid := regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	isProven := uuid.MatchString(scalarOf(object["uuid"])) || j.name == "ipsofactura" && uuid.MatchString(scalarOf(object["folio_fiscal"]))
	if !isProven || status == http.StatusAccepted && j.name == "fiscalisto" {
		t.Fatalf("%s: status %d and body %q do not prove a stamp", j.name, status, body)
	}
	if key := scalarOf(object["idempotencyKey"]); j.name == "facty" && key != "" && key != propertyKey {
		t.Fatalf("the document of the key %q was adopted: %q", key, body)
	}
}

// scalarOf is a string or the literal of a number, else empty.
func scalarOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var number json.Number
	if json.Unmarshal(value, &number) == nil {
		return string(value)
	}
	return ""
}
