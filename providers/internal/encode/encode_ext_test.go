package encode_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

func TestElement(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"inv_1": "inv_1", "a/b": "a%2Fb", "../x": "..%2Fx", "a b?c#d%e": "a%20b%3Fc%23d%25e", "ñ": "%C3%B1", "...": "...",
	} {
		check := encode.Check{}
		require.Equal(t, want, check.Element("ID", id))
		require.NoError(t, check.Err())
	}
	for _, id := range []string{"", ".", "..", "\x00", "a\nb", "a\rb", "a\x7f", "\t"} {
		check := encode.Check{}
		check.Element("ID", id)
		require.ErrorContains(t, check.Err(), "ID")
	}
}

func TestCheckKeepsTheFirstProblem(t *testing.T) {
	t.Parallel()
	check := encode.Check{Extra: map[string]any{"b": nil}}
	check.Require("B", false, "b")
	check.Refuse("C", false, "is set")
	require.NoError(t, check.Err())
	check.Row("Items", 3).Require("Quantity", false)
	check.Fail("D", "is wrong")
	require.EqualError(t, check.Err(), "Items[3].Quantity: is empty")
}

func TestBodyTakesRawAlone(t *testing.T) {
	t.Parallel()
	typed := func(*encode.Check) any { t.Error("typed members are not asked for"); return nil }
	raw := json.RawMessage(`{}`)
	body, err := encode.Body(&unavez.CancelParams{Raw: raw, ID: "i"}, nil, raw, typed, "ID")
	require.NoError(t, err)
	require.Equal(t, unavez.Body{Raw: raw}, body)

	_, err = encode.Body(&unavez.InvoiceParams{Raw: raw, Customer: unavez.Customer{RFC: "r"}}, nil, raw, typed)
	require.ErrorContains(t, err, "Customer.RFC")
	_, err = encode.Body(&unavez.InvoiceParams{Raw: raw, Items: []unavez.Item{{}}}, nil, raw, typed)
	require.ErrorContains(t, err, "Items")
}

func TestCheckMotive(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{"motivo":"01","otro":"u"}`: "", `{"motivo":"02"}`: "", `{"motivo":"03"}`: "", `{"motivo":"04"}`: "",
		`{}`: "Motive", `{"motivo":""}`: "Motive", `{"motivo":"5"}`: "Motive", `{"motivo":2}`: "Motive",
		`{"motivo":"01"}`: "SubstituteUUID", `{"motivo":"02","otro":"u"}`: "SubstituteUUID", `{"motivo":"04","otro":"u"}`: "SubstituteUUID",
	} {
		err := encode.CheckMotive([]byte(body), "motivo", "otro")
		if field == "" {
			require.NoError(t, err, body)
			continue
		}
		require.Error(t, err, body)
		require.True(t, strings.HasPrefix(err.Error(), field+": "), "%s: %v", body, err)
	}
}

func TestRequireRate(t *testing.T) {
	t.Parallel()
	for currency, isNeeded := range map[string]bool{"": false, "MXN": false, "XXX": false, "USD": true, "mxn": true} {
		check := encode.Check{}
		check.RequireRate(currency, "", "tipoCambio")
		require.Equal(t, isNeeded, check.Err() != nil, currency)
	}
	check := encode.Check{Extra: map[string]any{"tipoCambio": 17}}
	check.RequireRate("USD", "", "tipoCambio")
	require.NoError(t, check.Err())
}
