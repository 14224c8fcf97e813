package unavez_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// windows1252 is PEÑA as an old ERP writes it.
const windows1252 = "PE\xd1A"

// textField is one text somewhere in a parameter struct: how to set it, and the name that an error has to give.
type textField struct {
	path string
	set  func(params reflect.Value)
}

// textFields finds every text of a struct, however deep. Slices are taken to have one element.
func textFields(kind reflect.Type, path string, get func(reflect.Value) reflect.Value) []textField {
	switch {
	case kind == reflect.TypeFor[unavez.Decimal](), kind == reflect.TypeFor[time.Time](), kind == reflect.TypeFor[json.RawMessage]():
		return nil
	case kind.Kind() == reflect.String:
		return []textField{{path, func(params reflect.Value) { get(params).SetString(windows1252) }}}
	case kind.Kind() == reflect.Slice && kind.Elem().Kind() != reflect.Uint8:
		return textFields(kind.Elem(), path+"[0]", func(params reflect.Value) reflect.Value {
			list := get(params)
			if list.Len() == 0 {
				list.Set(reflect.MakeSlice(kind, 1, 1))
			}
			return list.Index(0)
		})
	case kind.Kind() == reflect.Pointer:
		return textFields(kind.Elem(), path, func(params reflect.Value) reflect.Value {
			pointer := get(params)
			if pointer.IsNil() {
				pointer.Set(reflect.New(kind.Elem()))
			}
			return pointer.Elem()
		})
	case kind.Kind() != reflect.Struct:
		return nil
	}
	var found []textField
	for i := range kind.NumField() {
		name := kind.Field(i).Name
		if path != "" {
			name = path + "." + name
		}
		found = append(found, textFields(kind.Field(i).Type, name, func(params reflect.Value) reflect.Value { return get(params).Field(i) })...)
	}
	return found
}

// textSender sends a struct of parameters with one call.
type textSender struct {
	name   string
	params func(provider string) any
	send   func(t *testing.T, client *unavez.Client, params any) error
}

// newSender makes a sender out of a service's method.
func newSender[P, D any](
	name string, params func(provider string) *P, call func(context.Context, *unavez.Client, *P, ...unavez.CallOption) (*D, error),
) textSender {
	return textSender{
		name:   name,
		params: func(provider string) any { return params(provider) },
		send: func(t *testing.T, client *unavez.Client, given any) error {
			t.Helper()
			typed, ok := given.(*P)
			require.True(t, ok)
			_, err := call(t.Context(), client, typed, unavez.WithIdempotencyKey(testKey))
			return err
		},
	}
}

func textSenders() []textSender {
	return []textSender{
		newSender("invoice", invoiceParams, func(
			ctx context.Context, client *unavez.Client, params *unavez.InvoiceParams, options ...unavez.CallOption,
		) (*unavez.Invoice, error) {
			return client.Invoices.Create(ctx, params, options...)
		}),
		newSender("payment", paymentParams, func(
			ctx context.Context, client *unavez.Client, params *unavez.PaymentParams, options ...unavez.CallOption,
		) (*unavez.Payment, error) {
			return client.Payments.Create(ctx, params, options...)
		}),
		newSender("payout", func(string) *unavez.PayoutParams { return payoutParams() }, func(
			ctx context.Context, client *unavez.Client, params *unavez.PayoutParams, options ...unavez.CallOption,
		) (*unavez.Payout, error) {
			return client.Payouts.Create(ctx, params, options...)
		}),
		newSender("cancellation", func(string) *unavez.CancelParams { return &unavez.CancelParams{ID: "doc_1", Motive: "02"} }, func(
			ctx context.Context, client *unavez.Client, params *unavez.CancelParams, options ...unavez.CallOption,
		) (*unavez.Cancellation, error) {
			return client.Invoices.Cancel(ctx, params, options...)
		}),
	}
}

func (s *textSender) isAt(provider string) bool {
	switch s.name {
	case "invoice":
		return provider != atPayouts
	case "payout":
		return provider == atPayouts
	}
	return provider == atFacty || provider == atIpsofactura
}

// requireRefusedField asks that nothing was sent and that the error names the field and not its value.
func requireRefusedField(t *testing.T, b *mockBundle, field, value string, err error) {
	t.Helper()
	e := requireError(t, err)
	require.Equal(t, unavez.Refused, e.Disposition)
	require.Equal(t, unavez.NotSent, e.Effect)
	require.Empty(t, b.all(), "something was sent")
	require.Contains(t, err.Error(), field, "the field is not named")
	require.NotContains(t, err.Error(), value, "the value is in the error")
	require.NotContains(t, e.Explain(), value, "the value is in the explanation")
}

func TestInvalidUTF8IsRefusedInEveryTextField(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, sender := range textSenders() {
			if !sender.isAt(provider) {
				continue
			}
			fields := textFields(reflect.TypeOf(sender.params(provider)).Elem(), "", func(params reflect.Value) reflect.Value { return params })
			require.NotEmpty(t, fields)
			for _, field := range fields {
				t.Run(provider+" "+sender.name+" "+field.path, func(t *testing.T) {
					t.Parallel()
					b, params := newMock(t, provider), sender.params(provider)
					field.set(reflect.ValueOf(params).Elem())
					err := sender.send(t, b.client, params)
					requireRefusedField(t, b, field.path, windows1252, err)
				})
			}
		}
	}
}

func TestInvalidUTF8IsRefusedInExtraAndRaw(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"text": windows1252, "in a list": []string{"x", windows1252}, "in a map": map[string]any{"a": map[string]string{"b": windows1252}},
		"name in a map": map[string]any{windows1252: "x"}, "raw message": json.RawMessage(`"` + windows1252 + `"`), "named text": unavez.InvoiceType(windows1252),
	} {
		for _, provider := range allProviders() {
			for _, sender := range textSenders() {
				if !sender.isAt(provider) {
					continue
				}
				t.Run(provider+" "+sender.name+" "+name, func(t *testing.T) {
					t.Parallel()
					b, params := newMock(t, provider), sender.params(provider)
					reflect.ValueOf(params).Elem().FieldByName("Extra").Set(reflect.ValueOf(map[string]any{"nota": value}))
					requireRefusedField(t, b, "Extra", windows1252, sender.send(t, b.client, params))
				})
			}
		}
	}
	for _, provider := range allProviders() {
		for _, sender := range textSenders() {
			if !sender.isAt(provider) {
				continue
			}
			t.Run(provider+" "+sender.name+" Extra name and Raw", func(t *testing.T) {
				t.Parallel()
				b, params := newMock(t, provider), sender.params(provider)
				reflect.ValueOf(params).Elem().FieldByName("Extra").Set(reflect.ValueOf(map[string]any{windows1252: 1}))
				requireRefusedField(t, b, "Extra", windows1252, sender.send(t, b.client, params))

				empty := reflect.New(reflect.TypeOf(params).Elem())
				if id := empty.Elem().FieldByName("ID"); id.IsValid() && provider == atFacty {
					id.SetString("doc_1")
				}
				empty.Elem().FieldByName("Raw").SetBytes([]byte(`{"nota":"` + windows1252 + `"}`))
				requireRefusedField(t, b, "Raw", windows1252, sender.send(t, b.client, empty.Interface()))
			})
		}
	}
}

func TestXMLThatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	for _, sealed := range []bool{false, true} {
		t.Run(fmt.Sprint("sealed ", sealed), func(t *testing.T) {
			t.Parallel()
			b := newMock(t, atIpsofactura)
			params := &unavez.StampXMLParams{XML: []byte(`<c Nombre="` + windows1252 + `"/>`), Sealed: sealed}
			_, err := b.client.Invoices.StampXML(t.Context(), params, unavez.WithIdempotencyKey(testKey))
			requireRefusedField(t, b, "XML", windows1252, err)
		})
	}
}

func TestAccentsGoOutAsWritten(t *testing.T) {
	t.Parallel()
	const name = `PEÑA & HIJOS "Ñandú" <Ü> \ € 🧾`
	for _, provider := range []string{atIpsofactura, atFiscalisto} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			b, params := newMock(t, provider), invoiceParams(provider)
			params.Customer.LegalName = name
			b.play(answer(201, mainCase(t, provider).success))

			_, err := b.client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))

			require.NoError(t, err)
			var sent struct {
				Receptor struct {
					Nombre string `json:"nombre"`
				} `json:"receptor"`
				Customer struct {
					LegalName string `json:"legal_name"`
				} `json:"customer"`
			}
			require.NoError(t, json.Unmarshal([]byte(b.writes()[0].Body), &sent))
			require.Equal(t, name, sent.Receptor.Nombre+sent.Customer.LegalName)
		})
	}
}

func TestProofThatIsNotValidTextProvesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		if !strings.Contains(c.success, testUUID) {
			continue
		}
		for _, charset := range []string{"", "; charset=utf-8", "; charset=ISO-8859-1", "; charset=windows-1252"} {
			for name, uuid := range map[string]string{"inside": testUUID[:20] + "\xf1" + testUUID[21:], "behind": testUUID + "\xff", "alone": "A\xf1O"} {
				t.Run(c.String()+charset+" "+name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						b := newMock(t, c.provider, unavez.WithMaxAttempts(1))
						b.play(answer(201, strings.Replace(c.success, testUUID, uuid, 1), "Content-Type: application/json"+charset), answer(502, ""))

						made, err := c.do(t.Context(), b.client, testKey)

						require.Nil(t, made, "a proof that is no text was believed")
						require.Equal(t, unavez.RetryLater, requireError(t, err).Disposition)
						require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
					})
				})
			}
		}
	}
}

func TestRawOfAnAnswerKeepsItsBytes(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			b := newMock(t, c.provider)
			body := " {\"nota\":\"" + windows1252 + " \\u00d1 \xff\",\n\t\"n\":1.00e1," + c.success[1:] + "\r\n"
			b.play(answer(201, body, "Content-Type: application/json; charset=ISO-8859-1"))

			made, err := c.do(t.Context(), b.client, testKey)

			require.NoError(t, err)
			require.Equal(t, body, string(made.Raw))
			again, err := c.do(t.Context(), b.client, testKey)
			require.NoError(t, err, "from the journal")
			require.Equal(t, body, string(again.Raw))
		})
	}
}
