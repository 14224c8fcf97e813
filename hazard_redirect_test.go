package unavez_test

import (
	"context"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// redirects are the statuses of their class, those without a meaning included.
func redirects() []int { return []int{300, 301, 302, 303, 304, 305, 306, 307, 308, 399} }

// elsewhere is a second server, under another host name, that must see nothing.
func elsewhere(tb testing.TB) (location string, seen *atomic.Int32) {
	tb.Helper()
	seen = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		seen.Add(1)
		_, _ = w.Write([]byte(`{"invoices":[{"id":"inv_9","uuid":"` + testUUID + `","status":"stamped"}],"uuid":"` + testUUID + `"}`))
	}))
	tb.Cleanup(server.Close)
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1), seen
}

// redirector answers every request with the status and the location.
func redirector(tb testing.TB, status int, location func(r *http.Request) string) (base string, requests *atomic.Int32) {
	tb.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Location", location(r))
		w.WriteHeader(status)
	}))
	tb.Cleanup(server.Close)
	return server.URL, requests
}

func TestRedirectOfAWriteIsRefusedAndNobodyElseSeesARequest(t *testing.T) {
	t.Parallel()
	location, seen := elsewhere(t)
	host := strings.TrimPrefix(location, "http://")
	for _, c := range everyWrite(t) {
		for _, status := range redirects() {
			t.Run(c.String()+" "+strconv.Itoa(status), func(t *testing.T) {
				t.Parallel()
				base, requests := redirector(t, status, func(r *http.Request) string { return location + r.URL.Path })
				client := loopback(t, c.provider, base, nil)

				made, err := c.do(t.Context(), client, testKey)

				require.Nil(t, made)
				e := requireError(t, err)
				require.Equal(t, unavez.Refused, e.Disposition)
				require.Equal(t, unavez.NotExecuted, e.Effect)
				require.Equal(t, status, e.HTTPStatus)
				require.Contains(t, err.Error(), host, "the error names the host of the redirect")
				require.Equal(t, int32(1), requests.Load(), "a redirect is not sent again")
				require.Zero(t, seen.Load(), "the other host saw a request")
			})
		}
	}
}

func TestRedirectToTheSamePathIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		for _, status := range redirects() {
			t.Run(c.String()+" "+strconv.Itoa(status), func(t *testing.T) {
				t.Parallel()
				base, requests := redirector(t, status, func(r *http.Request) string { return r.URL.Path })

				_, err := c.do(t.Context(), loopback(t, c.provider, base, nil), testKey)

				require.ErrorIs(t, err, unavez.ErrRefused)
				require.Equal(t, int32(1), requests.Load())
			})
		}
	}
}

// lookupCalls are the reads of every provider that has some.
func lookupCalls() map[string]func(ctx context.Context, client *unavez.Client) error {
	identity := unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "77"}
	return map[string]func(ctx context.Context, client *unavez.Client) error{
		"facty reconcile": func(ctx context.Context, client *unavez.Client) error {
			_, err := client.Invoices.Reconcile(ctx, testKey)
			return err
		},
		"facty payment reconcile": func(ctx context.Context, client *unavez.Client) error {
			_, err := client.Payments.Reconcile(ctx, testKey)
			return err
		},
		"facty get": func(ctx context.Context, client *unavez.Client) error {
			_, err := client.Invoices.Get(ctx, "inv_1")
			return err
		},
		"facty find": func(ctx context.Context, client *unavez.Client) error {
			_, err := client.Invoices.Find(ctx, unavez.InvoiceRef{UUID: testUUID})
			return err
		},
		"ipsofactura reconcile": func(ctx context.Context, client *unavez.Client) error {
			_, err := client.Invoices.Reconcile(ctx, testKey, unavez.WithReference(identity))
			return err
		},
		"ipsofactura get": func(ctx context.Context, client *unavez.Client) error {
			_, err := client.Invoices.Get(ctx, "cfdi_1")
			return err
		},
		"ipsofactura find": func(ctx context.Context, client *unavez.Client) error {
			_, err := client.Invoices.Find(ctx, identity)
			return err
		},
	}
}

func TestRedirectOfALookupTeachesNothingAndNobodyElseSeesARequest(t *testing.T) {
	t.Parallel()
	location, seen := elsewhere(t)
	for name, call := range lookupCalls() {
		for _, status := range redirects() {
			t.Run(name+" "+strconv.Itoa(status), func(t *testing.T) {
				t.Parallel()
				provider, _, _ := strings.Cut(name, " ")
				base, requests := redirector(t, status, func(r *http.Request) string { return location + r.URL.RequestURI() })

				err := call(t.Context(), loopback(t, provider, base, nil, unavez.WithMaxAttempts(1)))

				e := requireError(t, err)
				if strings.HasSuffix(name, "reconcile") {
					require.Equal(t, unavez.RetryLater, e.Disposition, "a lookup that failed")
					require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
				}
				require.Equal(t, int32(1), requests.Load())
				require.Zero(t, seen.Load(), "the other host saw a request, and the API key with it")
			})
		}
	}
}

func TestRedirectIsNotFollowedWithAGivenHTTPClientWhichStaysAsItWas(t *testing.T) {
	t.Parallel()
	location, seen := elsewhere(t)
	for _, c := range everyWrite(t) {
		for _, status := range redirects() {
			t.Run(c.String()+" "+strconv.Itoa(status), func(t *testing.T) {
				t.Parallel()
				base, requests := redirector(t, status, func(r *http.Request) string { return location + r.URL.Path })
				jar, err := cookiejar.New(nil)
				require.NoError(t, err)
				asked := 0
				transport := &http.Transport{}
				t.Cleanup(transport.CloseIdleConnections)
				given := &http.Client{Transport: transport, Jar: jar, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
					asked++
					return nil
				}}
				client, err := unavez.New(newProvider(t, c.provider, base), unavez.WithHTTPClient(given))
				require.NoError(t, err)

				_, err = c.do(t.Context(), client, testKey)

				require.ErrorIs(t, err, unavez.ErrRefused)
				require.Equal(t, int32(1), requests.Load())
				require.Zero(t, seen.Load(), "the other host saw a request")
				require.Zero(t, asked, "the client's own CheckRedirect was asked")
				require.NoError(t, given.CheckRedirect(nil, nil), "the client's own CheckRedirect was replaced")
				require.Equal(t, 1, asked)
				require.Same(t, transport, given.Transport)
				require.Same(t, jar, given.Jar)
				require.Equal(t, time.Minute, given.Timeout)
			})
		}
	}
}

func TestPlainHTTPIsRefusedExceptToALoopbackHost(t *testing.T) {
	t.Parallel()
	for base, isGood := range map[string]bool{
		"https://api.example": true, "https://api.example:8443/api": true, "http://127.0.0.1": true, "http://127.8.9.10:80": true,
		"http://[::1]:8080": true, "http://localhost:1": true, "http://LOCALHOST": true,
		"http://api.example": false, "http://10.0.0.1": false, "http://0.0.0.0": false, "http://[::]": false, "http://localhost.example": false,
		"http://127.0.0.1.example": false, "ftp://127.0.0.1": false, "127.0.0.1": false, "//api.example": false, "https://": false,
		"https://user:secret@api.example": false, "https://api.example?x=1": false, "https://api.example#x": false,
		"http://169.254.169.254": false, "https:///path": false, "http://" + net.IPv4(192, 168, 0, 1).String(): false,
	} {
		for _, provider := range allProviders() {
			t.Run(provider+" "+base, func(t *testing.T) {
				t.Parallel()
				_, err := unavez.New(newProvider(t, provider, base), unavez.WithEnvironment(unavez.Test))
				if isGood {
					require.NoError(t, err)
					return
				}
				require.Error(t, err)
				require.NotContains(t, err.Error(), "secret", "the password of the address is in the error")
				require.NotContains(t, err.Error(), testAPIKey)
			})
		}
	}
}
