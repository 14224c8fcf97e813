package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/internal/memnet"
	"github.com/unavez/unavez/sandbox"
)

const folder = "../../testdata/invoices"

// uuidHead is the part of a UUID that is shown. It depends on which of the calls arrives first.
var uuidHead = regexp.MustCompile(`stamped [0-9A-F]{8}`)

// tour runs the program in virtual time, over pipes instead of sockets.
func tour(t *testing.T, provider string) (output string, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		begin := time.Now()
		err = run(t.Context(), &b, onPipes(t), provider, folder)
		took = time.Since(begin)
		output = uuidHead.ReplaceAllString(b.String(), "stamped ........")
	})
	return output, took, err
}

func onPipes(t *testing.T) stage {
	t.Helper()
	return func() (*sandbox.Server, string, []unavez.ClientOption, error) {
		listener, server := memnet.Listen(), sandbox.New()
		transport := &http.Transport{DialContext: listener.DialContext}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() {
			transport.CloseIdleConnections()
			_ = server.Close()
		})
		return server, "http://127.0.0.1", []unavez.ClientOption{unavez.WithHTTPClient(&http.Client{Transport: transport})}, nil
	}
}

func TestTableIsTheRecordedOne(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"facty", "all"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			output, took, err := tour(t, provider)
			require.NoError(t, err)
			require.Less(t, took, 10*time.Second, "the tour is short")
			want, err := os.ReadFile(filepath.Join("testdata", provider+".txt"))
			require.NoError(t, err)
			require.Equal(t, string(want), output, "testdata/%s.txt is what the program prints; if the change is meant, record it there and in README.md", provider)
		})
	}
}

func TestFailsWhenAKeyIsStampedTwice(t *testing.T) {
	t.Parallel()
	// Two providers that share one ledger and one set of keys: each record is stamped at both.
	synctest.Test(t, func(t *testing.T) {
		server, url, options, err := onPipes(t)()
		require.NoError(t, err)
		shared := func() (*sandbox.Server, string, []unavez.ClientOption, error) { return server, url, options, nil }
		var b bytes.Buffer
		err = run(t.Context(), &b, shared, "all", folder)
		require.ErrorIs(t, err, errTwice)
		require.NotContains(t, b.String(), " 0 keys with 2 or more.")
	})
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	never := func() (*sandbox.Server, string, []unavez.ClientOption, error) {
		return nil, "", nil, errors.New("opened")
	}
	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, "1.json"), []byte("{"), 0o600))
	for name, test := range map[string]struct{ provider, folder, want string }{
		"provider": {"other", folder, `there is no provider "other": expected facty, ipsofactura, fiscalisto, payouts or all`},
		"folder":   {"facty", t.TempDir(), "-invoices"},
		"file":     {"facty", broken, "1.json: unexpected end of JSON input"},
		"stage":    {"facty", folder, "opened"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), &strings.Builder{}, never, test.provider, test.folder)
			require.ErrorContains(t, err, test.want)
		})
	}
}
