package clients

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/unavez/unavez/internal/campaign"
)

// stripeTimeout is that of the http.Client that stripe-go makes for itself.
const stripeTimeout = 80 * time.Second

// NewStripe returns the backend of stripe-go with its defaults, pointed at the sandbox: three tries, its own policy and waits, and
// the idempotency key as a parameter of the call, derived from the record.
func NewStripe(host campaign.Host) (campaign.Client, error) {
	return &stripeBackend{transport: host.Transport}, nil
}

type stripeBackend struct {
	neverAsks

	transport http.RoundTripper
}

// stripeDocument is an answer as stripe-go decodes it.
type stripeDocument struct {
	stripe.APIResource
	document
}

// Perform implements [campaign.Client].
func (s *stripeBackend) Perform(ctx context.Context, operation campaign.Operation, _ campaign.How) campaign.Answer {
	encoded, err := operation.Request(operation.Key())
	if err != nil {
		return failed(err)
	}
	path := strings.TrimPrefix(encoded.URL, campaign.BaseURL)
	rewrite := &prefixed{transport: s.transport, isAdded: !strings.HasPrefix(path, "/v1/")}
	if rewrite.isAdded {
		path = "/v1" + path
	}
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		HTTPClient:    &http.Client{Transport: rewrite, Timeout: stripeTimeout},
		URL:           stripe.String(campaign.BaseURL),
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})
	params := &stripe.Params{Context: ctx, Headers: encoded.Header, IdempotencyKey: stripe.String(operation.Key())}
	token := strings.TrimPrefix(encoded.Header.Get("Authorization"), "Bearer ")
	var found stripeDocument
	err = backend.CallRaw(encoded.Method, path, token, encoded.Body, params, &found)
	var refusal *stripe.Error
	switch {
	case errors.As(err, &refusal):
		return campaign.Answer{Verdict: campaign.Failed, Status: refusal.HTTPStatusCode, Err: err}
	case err != nil:
		return campaign.Answer{Verdict: campaign.Failed, Status: rewrite.last, Err: err}
	}
	return found.answer(operation, rewrite.last)
}

// prefixed takes the /v1 away again that stripe-go wants to see at the head of every path, and remembers the last status, which
// stripe-go does not tell where the error envelope is not Stripe's.
type prefixed struct {
	transport http.RoundTripper
	isAdded   bool
	last      int
}

// RoundTrip implements [http.RoundTripper].
func (p *prefixed) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := request
	if p.isAdded {
		sent = request.Clone(request.Context())
		sent.URL.Path = strings.TrimPrefix(request.URL.Path, "/v1")
		sent.URL.RawPath = ""
	}
	p.last = 0
	response, err := p.transport.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	p.last = response.StatusCode
	response.Request = request
	return response, nil
}
