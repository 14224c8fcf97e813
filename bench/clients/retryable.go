package clients

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/unavez/unavez/internal/campaign"
)

// NewRetryable returns go-retryablehttp with its defaults: five tries, DefaultRetryPolicy, DefaultBackoff. Only the transport is
// given, and the timeout of one try, of which the library's own client has none. The key is derived from the record.
func NewRetryable(host campaign.Host) (campaign.Client, error) {
	client := retryablehttp.NewClient()
	client.HTTPClient = &http.Client{Transport: host.Transport, Timeout: timeout}
	client.Logger = nil
	return &retryable{client: client}, nil
}

type retryable struct {
	neverAsks

	client *retryablehttp.Client
}

// Perform implements [campaign.Client].
func (r *retryable) Perform(ctx context.Context, operation campaign.Operation, _ campaign.How) campaign.Answer {
	encoded, err := operation.Request(operation.Key())
	if err != nil {
		return failed(err)
	}
	request, err := retryablehttp.NewRequestWithContext(ctx, encoded.Method, encoded.URL, bytes.NewReader(encoded.Body))
	if err != nil {
		return failed(err)
	}
	request.Header = encoded.Header
	response, err := r.client.Do(request)
	if err != nil {
		return failed(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	switch {
	case err != nil:
		return failed(err)
	case response.StatusCode >= 300:
		return failedStatus(response.StatusCode, body)
	}
	return read(operation, response.StatusCode, body)
}
