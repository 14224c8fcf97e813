// Package clients holds what people use today, as clients of the campaign: each configured as its own documentation advises, and with a
// careful program around it. Careful means: a 2xx counts as success only if its JSON holds what proves it, a fiscal UUID or the id of a
// payout that is neither failed nor unknown. What differs between the clients is what they do when something else comes back.
package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/unavez/unavez/internal/campaign"
)

// All returns the clients that work with every provider, by the names that the table shows.
func All() []Named {
	return []Named{
		{"bare net/http, retry loop, fresh UUID per call", NewBare},
		{"go-retryablehttp, defaults, derived key", NewRetryable},
		{"stripe-go's backend, defaults, derived key", NewStripe},
	}
}

// Named is a client with its name.
type Named struct {
	Name string
	New  campaign.Maker
}

// timeout is the one that the providers advise for a write. net/http has none by default.
const timeout = 30 * time.Second

// neverAsks is for clients that have no way to find out.
type neverAsks struct{}

// Ask implements [campaign.Client].
func (neverAsks) Ask(context.Context, campaign.Operation, campaign.How) (campaign.Answer, bool) {
	return campaign.Answer{}, false
}

func failed(err error) campaign.Answer { return campaign.Answer{Verdict: campaign.Failed, Err: err} }

func failedStatus(status int, body []byte) campaign.Answer {
	if len(body) > 200 {
		body = body[:200]
	}
	return campaign.Answer{Verdict: campaign.Failed, Status: status, Err: fmt.Errorf("status %d: %s", status, body)}
}

// newRequest makes a request that net/http can repeat, as http.NewRequest does.
func newRequest(ctx context.Context, r campaign.Request) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	request.Header = r.Header
	return request, nil
}

// send does one request and reads its answer.
func send(client *http.Client, request *http.Request) (status int, header http.Header, body []byte, err error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, 16<<20))
	return response.StatusCode, response.Header, body, err
}

// document is what the answers of all providers hold, as far as a program needs it.
type document struct {
	ID          string  `json:"id"`
	UUID        *string `json:"uuid"`
	FolioFiscal *string `json:"folio_fiscal"` //nolint:tagliatelle // as on the wire
	PaymentID   string  `json:"paymentId"`
	Status      string  `json:"status"`
}

var errNoProof = errors.New("the answer proves nothing")

// read is the careful program: it takes a 2xx for what its body proves, and for nothing else.
func read(operation campaign.Operation, status int, body []byte) campaign.Answer {
	var found document
	if err := json.Unmarshal(body, &found); err != nil {
		return failed(err)
	}
	return found.answer(operation, status)
}

func (d *document) answer(operation campaign.Operation, status int) campaign.Answer {
	uuid := d.uuid()
	switch {
	case operation.Kind == campaign.Payout:
		return d.payout(status)
	case uuid != "", operation.Kind == campaign.Registration && d.PaymentID != "":
		return campaign.Answer{Verdict: campaign.Done, Status: status, ID: d.ID, UUID: uuid}
	}
	// Accepted and not finished: it has to be asked for again.
	return campaign.Answer{Verdict: campaign.Later, Status: status, Err: errNoProof}
}

func (d *document) payout(status int) campaign.Answer {
	switch {
	case d.Status == "failed":
		return campaign.Answer{Verdict: campaign.Refused, Status: status}
	case d.Status == "unknown":
		return campaign.Answer{Verdict: campaign.Review, Status: status}
	case d.ID == "" || d.Status == "":
		return campaign.Answer{Verdict: campaign.Later, Status: status, Err: errNoProof}
	}
	return campaign.Answer{Verdict: campaign.Done, Status: status, ID: d.ID}
}

func (d *document) uuid() string {
	for _, uuid := range []*string{d.UUID, d.FolioFiscal} {
		if uuid != nil && *uuid != "" {
			return strings.ToUpper(*uuid)
		}
	}
	return ""
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
