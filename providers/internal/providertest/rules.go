package providertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/unavez/unavez"
)

// Rules sends every row of a provider's table through a client, as the only answer to one write, and requires what the row says. It
// also holds the table against what no table may say.
func Rules(t *testing.T, provider unavez.Provider, write func(*unavez.Client) error) {
	t.Helper()
	profile, err := provider.Profile(unavez.Production)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for i := range profile.Rules {
		rule := &profile.Rules[i]
		name := fmt.Sprintf("%d %s%s %t", rule.Status, rule.Code, rule.Word, rule.HasFieldErrors)
		if seen[name] {
			t.Errorf("two rows for %s", name)
		}
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireHarmless(t, rule)
			requireReached(t, provider, &profile, rule, write)
		})
	}
}

// requireHarmless holds a row against the promises of the SDK.
func requireHarmless(t *testing.T, rule *unavez.Rule) {
	t.Helper()
	isReused := errors.Is(rule.Marks, unavez.ErrKeyReused)
	isRefused := rule.Disposition == unavez.Refused
	for what, isBroken := range map[string]bool{
		"a row restates its sentence":                       rule.Says == "",
		"a row has a disposition":                           rule.Disposition == "",
		"an answer is never NotSent, and has an effect":     rule.Effect == "" || rule.Effect == unavez.NotSent,
		"a person is told why, and nobody else":             (rule.Disposition == unavez.NeedsManualReview) != (rule.Reason != ""),
		"nothing ambiguous is refused":                      isRefused && rule.Effect != unavez.NotExecuted,
		"what is refused is not sent again":                 isRefused && rule.Then != unavez.StepStop,
		"a verdict on the payload is a refusal":             rule.AboutPayload && !isRefused,
		"a reused key is asked for":                         isReused && (rule.Next != unavez.NextReconcile || rule.AboutPayload || !isRefused),
		"a conflict is not resent for its status alone":     rule.Status == http.StatusConflict && rule.Code == "" && rule.Then != unavez.StepLookUp,
		"only what is documented as harmless is sent again": rule.Then == unavez.StepResend && rule.Effect == unavez.Unknown && rule.Status == 5,
	} {
		if isBroken {
			t.Errorf("broken: %s", what)
		}
	}
}

func requireReached(
	t *testing.T, provider unavez.Provider, profile *unavez.Profile, rule *unavez.Rule, write func(*unavez.Client) error,
) {
	t.Helper()
	writes := 0
	transport := roundTripper(func(request *http.Request) *http.Response {
		if request.Method == http.MethodGet {
			return answer(t, http.StatusNotFound, nil)
		}
		writes++
		return answer(t, exact(rule.Status), bodyFor(profile, rule))
	})
	client, err := unavez.New(provider, unavez.WithEnvironment(unavez.Production),
		unavez.WithHTTPClient(&http.Client{Transport: transport}), unavez.WithMaxAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	var got *unavez.Error
	if err := write(client); !errors.As(err, &got) || writes != 1 {
		t.Fatalf("%d writes, and the error is %v", writes, err)
	}
	want := *rule
	if want.Next == "" {
		want.Next = got.Next
	}
	if got.Disposition != want.Disposition || got.Effect != want.Effect || got.Next != want.Next || got.Reason != want.Reason {
		t.Errorf("the row says %s, %s, %s, %q and the error is %s, %s, %s, %q",
			want.Disposition, want.Effect, want.Next, want.Reason, got.Disposition, got.Effect, got.Next, got.Reason)
	}
	if want.Marks != nil && !errors.Is(got, want.Marks) {
		t.Errorf("the error does not match %v", want.Marks)
	}
	if len(got.Attempts) == 1 && !strings.Contains(got.Explain(), want.Says) {
		t.Errorf("another row was taken: %s", got.Explain())
	}
}

type roundTripper func(*http.Request) *http.Response

// RoundTrip implements [http.RoundTripper].
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_, _ = io.Copy(io.Discard, request.Body)
	}
	return r(request), nil
}

func answer(t *testing.T, status int, body map[string]any) *http.Response {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Error(err)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(text))),
	}
}

// exact returns a status that only the class of a row matches.
func exact(status int) int {
	switch status {
	case 2:
		return http.StatusCreated
	case 4:
		return http.StatusTeapot
	case 5:
		return http.StatusGatewayTimeout
	}
	return status
}

func bodyFor(profile *unavez.Profile, rule *unavez.Rule) map[string]any {
	body := map[string]any{}
	if rule.Word != "" {
		body[profile.Document.ID[0]] = "id_1"
		body[profile.Document.Status[0]] = rule.Word
	}
	if rule.Code != "" {
		set(body, profile.Envelope.Code, rule.Code)
	}
	if rule.HasFieldErrors {
		set(body, profile.Envelope.FieldErrors, map[string]any{"items.0.iva": "bad"})
	}
	return body
}

func set(body map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inner := map[string]any{}
		body[name] = inner
		body = inner
	}
	body[path[len(path)-1]] = value
}
