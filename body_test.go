package unavez_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

type typedBody struct {
	A string `json:"a,omitempty"`
	K string `json:"key,omitempty"`
	N *int   `json:"n,omitempty"`
}

func TestBodyIsOneExactText(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]struct {
		body unavez.Body
		want string
	}{
		"nothing":                    {unavez.Body{}, `{}`},
		"typed":                      {unavez.Body{Typed: typedBody{A: "x"}}, `{"a":"x"}`},
		"empty Extra":                {unavez.Body{Typed: typedBody{A: "x"}, Extra: map[string]any{}}, `{"a":"x"}`},
		"Extra alone, by its names":  {unavez.Body{Extra: map[string]any{"c": 1, "b": nil, "a": "x"}}, `{"a":"x","b":null,"c":1}`},
		"Extra behind what is typed": {unavez.Body{Typed: typedBody{A: "z"}, Extra: map[string]any{"c": 1, "b": true}}, `{"a":"z","b":true,"c":1}`},
		"Extra behind nothing typed": {unavez.Body{Typed: typedBody{}, Extra: map[string]any{"b": true}}, `{"b":true}`},
		"amounts in Extra": {
			unavez.Body{Extra: map[string]any{"a": unavez.Decimal("10.00"), "b": json.Number("0.10"), "c": json.RawMessage(`{"x": 1.0}`)}},
			`{"a":10.00,"b":0.10,"c":{"x":1.0}}`,
		},
		"Raw with its spaces":        {unavez.Body{Raw: []byte(" { \"b\":1, \"a\" : 2.0 }\n")}, " { \"b\":1, \"a\" : 2.0 }\n"},
		"key added to Raw":           {unavez.Body{Raw: []byte(` { "b": 1 }`), KeyMember: "key", Key: "k", KeyIsAdded: true}, ` {"key":"k", "b": 1 }`},
		"key added to an empty Raw":  {unavez.Body{Raw: []byte(`{ }`), KeyMember: "key", Key: "k", KeyIsAdded: true}, `{"key":"k" }`},
		"key in Raw already":         {unavez.Body{Raw: []byte(`{"b":1,"key":"k"}`), KeyMember: "key", Key: "k", KeyIsAdded: true}, `{"b":1,"key":"k"}`},
		"key in Raw, escaped":        {unavez.Body{Raw: []byte(`{"key":"\u006b"}`), KeyMember: "key", Key: "k"}, `{"key":"\u006b"}`},
		"key that is not added":      {unavez.Body{Raw: []byte(`{"b":1}`), KeyMember: "key", Key: "k"}, `{"b":1}`},
		"key added before Extra":     {unavez.Body{Extra: map[string]any{"a": 1}, KeyMember: "key", Key: "k", KeyIsAdded: true}, `{"key":"k","a":1}`},
		"key in Extra already":       {unavez.Body{Extra: map[string]any{"key": "k"}, KeyMember: "key", Key: "k", KeyIsAdded: true}, `{"key":"k"}`},
		"key in what is typed":       {unavez.Body{Typed: typedBody{K: "k"}, KeyMember: "key", Key: "k", KeyIsAdded: true}, `{"key":"k"}`},
		"key with letters of markup": {unavez.Body{KeyMember: "key", Key: `<"&`, KeyIsAdded: true}, `{"key":"\u003c\"\u0026"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := r.body.Encode()
			require.NoError(t, err)
			require.Equal(t, r.want, string(got))
			require.True(t, json.Valid(got))
		})
	}
}

func TestBodyRefusesByTheNameOfTheField(t *testing.T) {
	t.Parallel()
	inner := map[string]any{"list": []any{1, map[string]any{"rate": 0.16}}}
	for name, r := range map[string]struct {
		body  unavez.Body
		field string
	}{
		"Raw that is no object":       {unavez.Body{Raw: []byte(`[]`)}, "Raw"},
		"Raw that is empty":           {unavez.Body{Raw: []byte{}}, "Raw"},
		"Raw that is two objects":     {unavez.Body{Raw: []byte(`{}{}`)}, "Raw"},
		"Raw that is cut":             {unavez.Body{Raw: []byte(`{"a":`)}, "Raw"},
		"Raw that is not UTF-8":       {unavez.Body{Raw: []byte("{\"a\":\"\xf1\"}")}, "Raw"},
		"Raw beside Extra":            {unavez.Body{Raw: []byte(`{}`), Extra: map[string]any{"a": 1}}, "Extra"},
		"another key in Raw":          {unavez.Body{Raw: []byte(`{"key":"x"}`), KeyMember: "key", Key: "k"}, "Raw"},
		"key twice in Raw":            {unavez.Body{Raw: []byte(`{"key":"k","key":"k"}`), KeyMember: "key", Key: "k"}, "Raw"},
		"key of another type in Raw":  {unavez.Body{Raw: []byte(`{"key":["k"]}`), KeyMember: "key", Key: "k"}, "Raw"},
		"another key in Extra":        {unavez.Body{Extra: map[string]any{"key": "x"}, KeyMember: "key", Key: "k"}, "Extra"},
		"Extra over a typed member":   {unavez.Body{Typed: typedBody{A: "x"}, Extra: map[string]any{"a": "y"}}, "Extra"},
		"Extra over the typed key":    {unavez.Body{Typed: typedBody{K: "k"}, Extra: map[string]any{"key": "k"}, KeyMember: "key", Key: "k"}, "Extra"},
		"Extra with a float":          {unavez.Body{Extra: map[string]any{"total": 116.0}}, `Extra["total"]`},
		"Extra with a float inside":   {unavez.Body{Extra: map[string]any{"a": inner}}, `Extra["a"][…][1][…]`},
		"Extra with NaN":              {unavez.Body{Extra: map[string]any{"a": math.NaN()}}, `Extra["a"]`},
		"Extra with no literal":       {unavez.Body{Extra: map[string]any{"a": unavez.Decimal("1e3")}}, `Extra["a"]`},
		"Extra with a number's NaN":   {unavez.Body{Extra: map[string]any{"a": json.Number("NaN")}}, `Extra["a"]`},
		"Extra with invalid UTF-8":    {unavez.Body{Extra: map[string]any{"a": []string{"ok", "\xf1"}}}, `Extra["a"][1]`},
		"Extra with an invalid name":  {unavez.Body{Extra: map[string]any{"\xf1": 1}}, "Extra"},
		"Extra with invalid JSON":     {unavez.Body{Extra: map[string]any{"a": json.RawMessage(`{`)}}, `Extra["a"]`},
		"Extra with a function":       {unavez.Body{Extra: map[string]any{"a": func() {}}}, `Extra["a"]`},
		"Extra with a struct":         {unavez.Body{Extra: map[string]any{"a": struct{ X float64 }{1}}}, `Extra["a"]`},
		"Extra with keys of a number": {unavez.Body{Extra: map[string]any{"a": map[int]string{1: "x"}}}, `Extra["a"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := r.body.Encode()
			var refused *unavez.FieldError
			require.ErrorAs(t, err, &refused, "body %s", got)
			require.Equal(t, r.field, refused.Field)
			require.NotContains(t, err.Error(), "\xf1")
			require.Nil(t, got)
		})
	}
}

func TestBodyDoesNotChangeWhatTheCallerGave(t *testing.T) {
	t.Parallel()
	raw := append(make([]byte, 0, 64), `{"b":1}`...)
	extra := map[string]any{"z": 1, "a": 2}
	body := unavez.Body{Raw: raw, KeyMember: "key", Key: "k", KeyIsAdded: true}
	got, err := body.Encode()
	require.NoError(t, err)
	got[0] = 'X'
	require.Equal(t, `{"b":1}`, string(raw))

	_, err = (&unavez.Body{Typed: typedBody{A: "x"}, Extra: map[string]any{"z": 1}}).Encode()
	require.NoError(t, err)
	require.Equal(t, map[string]any{"z": 1, "a": 2}, extra)
}
