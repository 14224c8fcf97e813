package unavez_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/unavez/unavez/sandbox"
)

// propertyTap stands between a client and the network and notes what the client was told, and what was true when it was told.
type propertyTap struct {
	transport http.RoundTripper
	run       *propertyRun
	client    int
}

// propertyAnswer is the answer to one request. Status is 0 if none came.
type propertyAnswer struct {
	client     int
	isWrite    bool
	start, end time.Time
	status     int
	body       []byte
	isWhole    bool
	// effects is how many effects the key had when the request left and when its answer was there.
	effectsBefore, effects int
}

func (a *propertyAnswer) String() string {
	body := a.body
	if len(body) > 200 {
		body = body[:200]
	}
	return fmt.Sprintf("%d %s whole=%t effects %d then %d", a.status, body, a.isWhole, a.effectsBefore, a.effects)
}

func (p *propertyTap) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := &propertyAnswer{
		client: p.client, isWrite: request.Method == http.MethodPost, start: time.Now(), effectsBefore: p.run.server.Effects(propertyKey),
	}
	p.run.mu.Lock()
	p.run.answers = append(p.run.answers, answer)
	p.run.mu.Unlock()
	response, err := p.transport.RoundTrip(request)
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	answer.end, answer.effects = time.Now(), p.run.server.Effects(propertyKey)
	if err != nil {
		return nil, err
	}
	answer.status = response.StatusCode
	response.Body = &propertyBody{response.Body, p.run, answer}
	return response, nil
}

// propertyBody notes what is read of an answer.
type propertyBody struct {
	io.ReadCloser

	run    *propertyRun
	answer *propertyAnswer
}

func (b *propertyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.run.mu.Lock()
	defer b.run.mu.Unlock()
	if room := 64<<10 - len(b.answer.body); room > 0 {
		b.answer.body = append(b.answer.body, p[:min(n, room)]...)
	}
	b.answer.isWhole = b.answer.isWhole || err == io.EOF
	b.answer.end = time.Now()
	return n, err
}

// propertyClaim is what an answer says of the facts, read from the providers' pages a second time and apart from the SDK's tables.
type propertyClaim int

const (
	claimsNothing propertyClaim = iota // it says nothing of the effect, or leaves it open
	claimsNoDeed                       // this request did nothing
	claimsVerdict                      // the payload was judged: no request with these bytes did anything
	claimsDone                         // the document exists
	claimsReused                       // the key belongs to other bytes
)

// claim reads an answer to a write.
func (a *propertyAnswer) claim(provider string) (propertyClaim, propertyDocument) {
	var body map[string]any
	if !a.isWhole || json.Unmarshal(a.body, &body) != nil {
		body = nil
	}
	text := func(object map[string]any, name string) string { value, _ := object[name].(string); return value }
	envelope := body
	if inner, ok := body["error"].(map[string]any); ok && (provider == "payouts" || provider == "fiscalisto") {
		envelope = inner
	}
	code := text(envelope, "code")
	switch {
	case strings.Contains(code, "307"):
		return claimsDone, propertyDocument{}
	case strings.EqualFold(code, "idempotency_key_reused"):
		return claimsReused, propertyDocument{}
	case a.status/100 == 2:
		return claimOfGoodStatus(provider, body, text)
	}
	_, hasFieldErrors := body["fieldErrors"]
	return claimOfStatus(provider, a.status, code, hasFieldErrors), propertyDocument{}
}

func claimOfGoodStatus(
	provider string, body map[string]any, text func(map[string]any, string) string,
) (propertyClaim, propertyDocument) {
	document := propertyDocument{id: text(body, "id"), uuid: text(body, "uuid")}
	if provider == "ipsofactura" && text(body, "folio_fiscal") != "" {
		document.uuid = text(body, "folio_fiscal")
	}
	status := text(body, "status")
	switch {
	case provider == "payouts" && status == "failed":
		return claimsVerdict, document
	case provider == "payouts" && status != "" && status != "unknown" && document.id != "":
		return claimsDone, propertyDocument{id: document.id}
	case provider == "payouts":
		return claimsNothing, document
	case document.uuid != "", provider == "facty" && text(body, "paymentId") != "":
		return claimsDone, document
	}
	return claimsNothing, document
}

func claimOfStatus(provider string, status int, code string, hasFieldErrors bool) propertyClaim {
	switch {
	case status == http.StatusServiceUnavailable && provider == "payouts" && code == "no_provider_available":
		return claimsNoDeed
	case status < 300, status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict:
		return claimsNothing
	case status == http.StatusUnprocessableEntity && provider == "facty" && hasFieldErrors:
		return claimsVerdict
	case code == "" || provider == "facty":
		return claimsNoDeed
	case status == http.StatusBadRequest, status == http.StatusNotFound, status == http.StatusUnprocessableEntity:
		return claimsVerdict
	}
	return claimsNoDeed
}

// lies reports an answer that no provider gives by its page, so that nobody who believes the page could know better:
//   - "done", of a document that the ledger does not hold;
//   - "not done", of a request that was executed before the answer left;
//   - a verdict on the payload, or "other bytes", for a key whose bytes were executed: the page promises the first answer again, or a
//     conflict while the first request is in flight;
//   - a lookup whose row of our key has another state than the ledger says. (An empty list is no lie: it may lag.)
func (a *propertyAnswer) lies(provider string, ledger []sandbox.Entry) bool {
	if !a.isWrite {
		return a.lookupLies(ledger)
	}
	switch claim, document := a.claim(provider); claim {
	case claimsDone:
		return !document.isIn(ledger)
	case claimsNoDeed:
		return a.effects > a.effectsBefore
	case claimsVerdict, claimsReused:
		return a.effects > 0 || claim == claimsReused
	case claimsNothing:
	}
	return false
}

func (a *propertyAnswer) lookupLies(ledger []sandbox.Entry) bool {
	var list struct {
		Invoices []struct {
			IdempotencyKey string `json:"idempotencyKey"`
			Status         string `json:"status"`
			UUID           string `json:"uuid"`
		} `json:"invoices"`
	}
	if json.Unmarshal(a.body, &list) != nil {
		return false
	}
	for _, row := range list.Invoices {
		if row.IdempotencyKey != propertyKey {
			continue
		}
		if row.Status == "failed" && effectsOf(ledger) > 0 || row.Status == "stamped" && row.UUID != "" && !(propertyDocument{uuid: row.UUID}).isIn(ledger) {
			return true
		}
	}
	return false
}

// isIn reports whether the ledger holds the document under the key.
func (d propertyDocument) isIn(ledger []sandbox.Entry) bool {
	for _, entry := range ledger {
		if entry.Key != propertyKey {
			continue
		}
		if entry.Status == "registered" { // the ledger and the answer number it differently
			return d.uuid == ""
		}
		if d.uuid == entry.UUID && (d.id == "" || d.id == entry.ID) {
			return true
		}
	}
	return false
}
