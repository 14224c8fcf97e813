package clients

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/unavez/unavez/internal/campaign"
)

// NewFiscalistoLoop returns the loop of Fiscalisto's page, restated: five tries with one key; after no answer, 409, 429 and 5xx it waits
// as Retry-After says, else 1, 2, 4, 8, 16 s; everything else is the answer. The page sets no timeout: the fetch of Node gives up after 5 min.
func NewFiscalistoLoop(host campaign.Host) (campaign.Client, error) {
	return &fiscalistoLoop{client: &http.Client{Transport: host.Transport, Timeout: 5 * time.Minute}}, nil
}

type fiscalistoLoop struct {
	neverAsks

	client *http.Client
}

var errLater = errors.New("no answer; try again later with the same key")

// Perform implements [campaign.Client].
func (f *fiscalistoLoop) Perform(ctx context.Context, operation campaign.Operation, _ campaign.How) campaign.Answer {
	encoded, err := operation.Request(operation.Key())
	if err != nil {
		return failed(err)
	}
	for try := range 5 {
		request, err := newRequest(ctx, encoded)
		if err != nil {
			return failed(err)
		}
		status, header, body, err := send(f.client, request)
		isRetried := status == 0 || status == http.StatusConflict || status == http.StatusTooManyRequests || status >= 500
		switch {
		case !isRetried && err != nil: // the head arrived, and reading the JSON failed
			return failed(err)
		case !isRetried && status >= 300:
			return failedStatus(status, body)
		case !isRetried:
			return read(operation, status, body)
		}
		if err := pause(ctx, scriptWait(header.Get("Retry-After"), try)); err != nil {
			return failed(err)
		}
	}
	return campaign.Answer{Verdict: campaign.Later, Err: errLater}
}

// scriptWait is what the page's script makes of Retry-After: Number(text) || 2 ** try, in a timer that fires at once for what is
// negative or does not fit into 31 bits of milliseconds.
func scriptWait(text string, try int) time.Duration {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || seconds == 0 || math.IsNaN(seconds) {
		seconds = float64(int(1) << try)
	}
	if milliseconds := seconds * 1000; milliseconds < 1 || milliseconds > math.MaxInt32 {
		return time.Millisecond
	}
	return time.Duration(seconds * float64(time.Second))
}

// NewFactyPage returns the pseudocode of Facty's page, restated: one POST; after a timeout or a 5xx it asks for the key and looks at
// the first row, where stamped is the document, pending is to come back later, and everything else is for a person.
func NewFactyPage(host campaign.Host) (campaign.Client, error) {
	return &factyPage{client: &http.Client{Transport: host.Transport, Timeout: timeout}}, nil
}

type factyPage struct {
	neverAsks

	client *http.Client
}

// Perform implements [campaign.Client].
func (f *factyPage) Perform(ctx context.Context, operation campaign.Operation, _ campaign.How) campaign.Answer {
	encoded, err := operation.Request(operation.Key())
	if err != nil {
		return failed(err)
	}
	request, err := newRequest(ctx, encoded)
	if err != nil {
		return failed(err)
	}
	status, _, body, err := send(f.client, request)
	switch {
	case err != nil || status >= 500:
		return f.find(ctx, operation)
	case status >= 300:
		return failedStatus(status, body)
	}
	return read(operation, status, body)
}

func (f *factyPage) find(ctx context.Context, operation campaign.Operation) campaign.Answer {
	encoded, err := operation.Lookup()
	if err != nil {
		return failed(err)
	}
	request, err := newRequest(ctx, encoded)
	if err != nil {
		return failed(err)
	}
	status, _, body, err := send(f.client, request)
	switch {
	case err != nil:
		return failed(err)
	case status >= 300:
		return failedStatus(status, body)
	}
	var list struct {
		Invoices []document `json:"invoices"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return failed(err)
	}
	if len(list.Invoices) > 0 {
		switch row := list.Invoices[0]; {
		case row.Status == "stamped" && row.UUID != nil:
			return row.answer(operation, status)
		case row.Status == "pending":
			return campaign.Answer{Verdict: campaign.Later, Status: status, Err: errLater}
		}
	}
	return campaign.Answer{Verdict: campaign.Review, Status: status}
}
