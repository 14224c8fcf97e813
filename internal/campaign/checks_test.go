package campaign_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/internal/campaign"
)

// TestTheChecksSeeABrokenClient plays clients that break one promise each: a check that never fails proves nothing.
func TestTheChecksSeeABrokenClient(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, promise string
		maker         campaign.Maker
	}{
		{"forgets what it has sent", "double", withHost(func(host *campaign.Host) { host.Journal = forgetful{} })},
		{"calls what is open refused", "refused", withAnswers(func(answer *campaign.Answer) {
			answer.Err = changed(answer.Err, func(failure *unavez.Error) { failure.Disposition = unavez.Refused })
		})},
		{"calls what was sent not sent", "refused", withAnswers(func(answer *campaign.Answer) {
			answer.Err = changed(answer.Err, func(failure *unavez.Error) { failure.Effect = unavez.NotSent })
		})},
		{"calls what is open executed", "untrue", withAnswers(func(answer *campaign.Answer) {
			answer.Err = changed(answer.Err, func(failure *unavez.Error) { failure.Effect = unavez.Executed })
		})},
		{"takes what is open for done", "untrue", withAnswers(func(answer *campaign.Answer) {
			*answer = campaign.Answer{Verdict: campaign.Done, ID: "inv_1", UUID: "5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55"}
		})},
		{"gives no reason that is true", "reason", withAnswers(func(answer *campaign.Answer) {
			answer.Verdict, answer.Again = campaign.Review, false
			answer.Err = changed(answer.Err, func(failure *unavez.Error) {
				failure.Disposition, failure.Reason = unavez.NeedsManualReview, unavez.ReasonDuplicate
			})
		})},
		{"never ends", "lost", func(campaign.Host) (campaign.Client, error) { return idle{}, nil }},
		{"sends behind its own back", "uncounted", withHost(func(host *campaign.Host) { host.Transport = twice{host.Transport} })},
		{"does not know the provider's memory", "expired", withHost(func(host *campaign.Host) { host.Journal = timeless{host.Journal} })},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(400) {
				report := play(t, campaign.Draw(seed+1, campaign.Shape{IsHonest: true}), campaign.Mode{}, row.maker)
				for _, broken := range report.Broken {
					if strings.HasPrefix(broken, row.promise+":") {
						return
					}
				}
			}
			require.Failf(t, "not seen", "400 histories, and no check says %q of a client that %s", row.promise, row.name)
		})
	}
}

func withHost(change func(host *campaign.Host)) campaign.Maker {
	return func(host campaign.Host) (campaign.Client, error) {
		change(&host)
		return campaign.NewSDK(host)
	}
}

func withAnswers(change func(answer *campaign.Answer)) campaign.Maker {
	return func(host campaign.Host) (campaign.Client, error) {
		client, err := campaign.NewSDK(host)
		return altered{client, change}, err
	}
}

// altered changes every answer that says "later".
type altered struct {
	campaign.Client

	change func(answer *campaign.Answer)
}

func (a altered) Perform(ctx context.Context, operation campaign.Operation, how campaign.How) campaign.Answer {
	answer := a.Client.Perform(ctx, operation, how)
	if answer.Verdict == campaign.Later {
		a.change(&answer)
	}
	return answer
}

func changed(err error, change func(failure *unavez.Error)) error {
	var failure *unavez.Error
	if !errors.As(err, &failure) {
		return err
	}
	twin := *failure
	change(&twin)
	return &twin
}

// idle never does anything.
type idle struct{}

func (idle) Perform(context.Context, campaign.Operation, campaign.How) campaign.Answer {
	return campaign.Answer{Verdict: campaign.Later}
}

func (idle) Ask(context.Context, campaign.Operation, campaign.How) (campaign.Answer, bool) {
	return campaign.Answer{Verdict: campaign.Later}, true
}

// twice sends every write a second time.
type twice struct{ http.RoundTripper }

func (w twice) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost {
		return w.RoundTripper.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	again := request.Clone(request.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	if response, err := w.RoundTripper.RoundTrip(again); err == nil {
		_ = response.Body.Close()
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return w.RoundTripper.RoundTrip(request)
}

// forgetful is a journal that admits everything as if it were new.
type forgetful struct{ unavez.Journal } // Resolve is never called

func (forgetful) Begin(_ context.Context, intent unavez.Intent) (unavez.Record, error) {
	if intent.Reconciling {
		return unavez.Record{Admission: unavez.AdmitNothing}, nil
	}
	return unavez.Record{
		RecordID: intent.RecordID, Admission: unavez.AdmitSend, Claim: unavez.Claim{RecordID: intent.RecordID, Owner: intent.Owner},
	}, nil
}

func (forgetful) Extend(context.Context, unavez.Claim, int, time.Duration) error { return nil }

func (forgetful) Finish(context.Context, unavez.Claim, unavez.Result) error { return nil }

func (forgetful) Load(context.Context, unavez.RecordID) (unavez.Record, error) {
	return unavez.Record{}, unavez.ErrNoRecord
}

// timeless is a journal that takes everything for just sent.
type timeless struct{ unavez.Journal }

func (j timeless) Begin(ctx context.Context, intent unavez.Intent) (unavez.Record, error) {
	record, err := j.Journal.Begin(ctx, intent)
	record.Age = 0
	return record, err
}
