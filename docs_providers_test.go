package unavez_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/fiscalisto"
	"github.com/unavez/unavez/providers/ipsofactura"
	"github.com/unavez/unavez/providers/payouts"
)

// answerRow is a row of a table of answers in docs/providers.md.
type answerRow struct{ provider, status, code, endsAs, next string }

// answerRows reads the rows that end in a disposition; the others are asked for first, and are described elsewhere.
func answerRows(t *testing.T) []answerRow {
	t.Helper()
	text, err := os.ReadFile("docs/providers.md")
	require.NoError(t, err)
	marker := regexp.MustCompile(`^<!-- answers: (\w+) -->$`)
	var rows []answerRow
	provider := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(line, "|"), "|")
		switch match := marker.FindStringSubmatch(line); {
		case match != nil:
			provider = match[1]
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "- "):
			provider = ""
		case provider == "" || len(cells) != 6 || !regexp.MustCompile(`^ (Refused|RetryLater|NeedsManualReview)`).MatchString(cells[3]):
		default:
			trim := func(i int) string { return strings.Trim(cells[i], " `") }
			rows = append(rows, answerRow{provider, trim(0), trim(1), trim(3), trim(4)})
		}
	}
	return rows
}

// body is the answer in the provider's own envelope.
func (r *answerRow) body() string {
	code := r.code
	switch code {
	case "any":
		code = "SOMETHING_ELSE"
	case "with `fieldErrors":
		return `{"error":"bad","code":"VALIDATION","fieldErrors":{"usoCfdi":"bad"}}`
	}
	if r.provider == "payouts" || r.provider == "fiscalisto" {
		return fmt.Sprintf(`{"error":{"code":%q}}`, code)
	}
	return fmt.Sprintf(`{"code":%q}`, code)
}

// call makes the provider's write against the server, once.
func (r *answerRow) call(t *testing.T, url string) error {
	t.Helper()
	provider := map[string]unavez.Provider{
		"facty":       facty.Provider{BaseURL: url, Org: "acme", APIKey: "k"},
		"ipsofactura": ipsofactura.Provider{BaseURL: url, APIKey: "k"},
		"fiscalisto":  fiscalisto.Provider{BaseURL: url, APIKey: "k"},
		"payouts":     payouts.Provider{BaseURL: url, APIKey: "k"},
	}[r.provider]
	client, err := unavez.New(provider, unavez.WithMaxAttempts(1))
	require.NoError(t, err)
	key := unavez.WithIdempotencyKey("mi-erp:test:factura:1")
	if r.provider == "payouts" {
		_, err = client.Payouts.Create(t.Context(), &unavez.PayoutParams{Raw: []byte(`{"quoteId":"q","method":"m","beneficiaryId":"b"}`)}, key)
		return err
	}
	_, err = client.Invoices.Create(t.Context(), &unavez.InvoiceParams{Raw: []byte(`{"type":"ingreso"}`)}, key)
	return err
}

func TestTablesOfTheProvidersPageAreWhatHappens(t *testing.T) {
	t.Parallel()
	rows := answerRows(t)
	require.Greater(t, len(rows), 40)
	for _, row := range rows {
		t.Run(strings.Join([]string{row.provider, row.status, row.code}, " "), func(t *testing.T) {
			t.Parallel()
			status, err := strconv.Atoi(row.status)
			require.NoError(t, err)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, row.body())
			}))
			defer server.Close()

			var e *unavez.Error
			require.ErrorAs(t, row.call(t, server.URL), &e)
			disposition, mark, _ := strings.Cut(row.endsAs, ", ")
			require.Equal(t, disposition, map[unavez.Disposition]string{
				unavez.Refused: "Refused", unavez.RetryLater: "RetryLater", unavez.NeedsManualReview: "NeedsManualReview",
			}[e.Disposition], "ends as")
			require.Equal(t, row.next, string(e.Next), "next")
			require.Equal(t, mark == "key reused", isMarked(e, unavez.ErrKeyReused), "key reused")
			require.Equal(t, mark == "outcome unknown", isMarked(e, unavez.ErrOutcomeUnknown), "outcome unknown")
		})
	}
}

func isMarked(e *unavez.Error, mark error) bool { return e.Is(mark) }
