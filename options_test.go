package unavez_test

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

func TestNewRefusesABadOptionByName(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		option unavez.ClientOption
		says   string
	}{
		{nil, "client option 0 is nil"},
		{unavez.WithNamespace(""), "namespace is empty"},
		{unavez.WithEnvironment(""), "environment is neither Production nor Test"},
		{unavez.WithEnvironment("staging"), "environment is neither Production nor Test"},
		{unavez.WithHTTPClient(nil), "http client is nil"},
		{unavez.WithJournal(nil), "journal is nil"},
		{unavez.WithLogger(nil), "logger is nil"},
		{unavez.WithObserver(nil), "observer is nil"},
		{unavez.WithUserAgent(""), "user agent is empty"},
		{unavez.WithUserAgent("mi-erp/1\r\nX: y"), "user agent has byte 0x0d at position 8"},
		{unavez.WithUserAgent("peña"), "user agent has byte 0xc3 at position 2"},
		{unavez.WithTimeout(0), "timeout is 0s"},
		{unavez.WithTimeout(-time.Second), "timeout is -1s"},
		{unavez.WithMaxAttempts(0), "max attempts is 0"},
		{unavez.WithMaxAttempts(-3), "max attempts is -3"},
		{unavez.WithMaxWait(-1), "max wait is -1ns"},
		{unavez.WithJitter(-0.1), "jitter is not a fraction"},
		{unavez.WithJitter(1.1), "jitter is not a fraction"},
		{unavez.WithJitter(math.NaN()), "jitter is not a fraction"},
		{unavez.WithJitter(math.Inf(1)), "jitter is not a fraction"},
	} {
		client, err := unavez.New(propertyProvider("facty"), r.option)
		require.ErrorContains(t, err, r.says)
		require.Nil(t, client)
	}
}

func TestNewTakesEveryOptionAtItsLimit(t *testing.T) {
	t.Parallel()
	client, err := unavez.New(propertyProvider("facty"),
		unavez.WithNamespace("x"), unavez.WithEnvironment(unavez.Production), unavez.WithHTTPClient(&http.Client{}),
		unavez.WithJournal(unavez.NewMemoryJournal(1)), unavez.WithLogger(slog.New(slog.DiscardHandler)),
		unavez.WithObserver(func(context.Context, unavez.Event) {}), unavez.WithUserAgent("a b"), unavez.WithTimeout(1),
		unavez.WithMaxAttempts(1), unavez.WithMaxAttempts(math.MaxInt), unavez.WithMaxWait(0), unavez.WithMaxWait(math.MaxInt64),
		unavez.WithJitter(0), unavez.WithJitter(1))
	require.NoError(t, err)
	require.NotNil(t, client)
}

// A key belongs to one call, and the namespace to all of them: the types keep them apart.
func TestOptionsAreForAClientOrForACall(t *testing.T) {
	t.Parallel()
	for _, option := range []any{unavez.WithIdempotencyKey("k"), unavez.WithDomainID("a", "b"), unavez.WithReference(unavez.InvoiceRef{}), unavez.WithLookupOnly()} {
		_, isClientOption := option.(unavez.ClientOption)
		require.False(t, isClientOption)
	}
	for _, option := range []any{unavez.WithNamespace("a"), unavez.WithEnvironment(unavez.Test), unavez.WithUserAgent("a")} {
		_, isCallOption := option.(unavez.CallOption)
		require.False(t, isCallOption)
	}
}
