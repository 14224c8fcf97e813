package clients

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/unavez/unavez/internal/campaign"
)

// NewBare returns net/http with the loop that most programs have: five tries, 1, 2, 4 and 8 s apart, after no answer, 429 and
// 5xx; a random UUID as the key, made for each call and kept over its tries.
func NewBare(host campaign.Host) (campaign.Client, error) {
	return &bare{client: &http.Client{Transport: host.Transport, Timeout: timeout}}, nil
}

type bare struct {
	neverAsks

	client *http.Client
}

// Perform implements [campaign.Client].
func (b *bare) Perform(ctx context.Context, operation campaign.Operation, _ campaign.How) campaign.Answer {
	encoded, err := operation.Request(newUUID())
	if err != nil {
		return failed(err)
	}
	var last campaign.Answer
	for try := range 5 {
		if try > 0 && pause(ctx, time.Second<<(try-1)) != nil {
			return last
		}
		request, err := newRequest(ctx, encoded)
		if err != nil {
			return failed(err)
		}
		status, _, body, err := send(b.client, request)
		switch {
		case err != nil:
			last = failed(err)
		case status == http.StatusTooManyRequests || status >= 500:
			last = failedStatus(status, body)
		case status >= 300:
			return failedStatus(status, body)
		default:
			return read(operation, status, body)
		}
	}
	return last
}

// newUUID returns a random UUID of version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
