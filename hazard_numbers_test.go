package unavez_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// literals are amounts of up to 18 digits and 6 decimals: the ones that floating point spoils, the limits, and random ones.
func literals() []string {
	all := []string{
		"9007199254740993", "9007199254740992", "1234567.10", "116.00", "116.0", "116", "0", "0.0", "0.00", "0.000001", "0.1", "0.3", "1.005", "2.675", "100.10",
		"999999999999999999.999999", "999999999999999999", "100000000000000000.000001", "123456789012345678.123456", "1.000000", "10", "10.50", "0.16",
	}
	source := rand.New(rand.NewPCG(1, 2))
	for whole := range 18 {
		for fraction := range 7 {
			digits := func(n int) string {
				var b strings.Builder
				for range n {
					b.WriteByte(byte('0' + source.IntN(10)))
				}
				return b.String()
			}
			literal := fmt.Sprint(1+source.IntN(9)) + digits(whole)
			if fraction > 0 {
				literal += "." + digits(fraction)
			}
			all = append(all, literal)
		}
	}
	return all
}

func TestAmountGoesOutByteForByte(t *testing.T) {
	t.Parallel()
	for _, literal := range literals() {
		t.Run(literal, func(t *testing.T) {
			t.Parallel()
			for provider, member := range map[string]string{atFacty: `"unitPrice":`, atIpsofactura: `"valor_unitario":`, atFiscalisto: `"unit_price":`} {
				b, params := newMock(t, provider), invoiceParams(provider)
				params.Items[0].UnitPrice = unavez.Decimal(literal)
				params.Extra = map[string]any{
					"x_decimal": unavez.Decimal(literal), "x_number": json.Number(literal), "x_raw": json.RawMessage(literal), "x_list": []any{json.Number(literal)},
				}
				b.play(answer(201, mainCase(t, provider).success))
				_, err := b.client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
				require.NoError(t, err)
				body := strings.NewReplacer("}", ",", "]", ",").Replace(b.writes()[0].Body)
				require.Contains(t, body, member+literal+",", provider)
				for _, name := range []string{`"x_decimal":`, `"x_number":`, `"x_raw":`, `"x_list":[`} {
					require.Contains(t, body, name+literal+",", provider)
				}
			}
		})
	}
}

func TestAmountOfAPaymentGoesOutByteForByte(t *testing.T) {
	t.Parallel()
	for _, literal := range literals() {
		t.Run(literal, func(t *testing.T) {
			t.Parallel()
			for provider, members := range map[string][]string{
				atFacty:       {`"monto":`, `"importeSaldoAnterior":`, `"importePagado":`, `"importeSaldoInsoluto":`},
				atIpsofactura: {`"monto":`, `"imp_saldo_ant":`, `"imp_pagado":`, `"imp_saldo_insoluto":`},
			} {
				amount := unavez.Decimal(literal)
				b, params := newMock(t, provider), paymentParams(provider)
				params.Amount = amount
				document := &params.Documents[0]
				document.PreviousBalance, document.Paid, document.RemainingBalance = amount, amount, amount
				b.play(answer(201, caseOf(t, provider, unavez.PaymentCreate).success))
				_, err := b.client.Payments.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
				require.NoError(t, err)
				body := strings.NewReplacer("}", ",", "]", ",").Replace(b.writes()[0].Body)
				for _, member := range members {
					require.Contains(t, body, member+literal+",", provider)
				}
			}
		})
	}
}

func TestAmountComesBackByteForByte(t *testing.T) {
	t.Parallel()
	for _, literal := range literals() {
		t.Run(literal, func(t *testing.T) {
			t.Parallel()
			for _, provider := range []string{atFacty, atIpsofactura, atFiscalisto} {
				for _, form := range []string{literal, `"` + literal + `"`} {
					c, b := mainCase(t, provider), newMock(t, provider)
					b.play(answer(201, c.withMember(t, "total", form)))
					made, err := b.client.Invoices.Create(t.Context(), invoiceParams(provider), unavez.WithIdempotencyKey(testKey))
					require.NoError(t, err)
					require.Equal(t, unavez.Decimal(literal), made.Total, provider)
					require.Contains(t, string(made.Raw), form)
				}
			}
		})
	}
}

// notAmounts are texts that are no decimal literal.
func notAmounts() []string {
	return []string{
		"NaN", "nan", "Inf", "+Inf", "-Inf", "Infinity", "1e3", "1E3", "1e-3", "0x10", "1_000", "1,000.00", "1.000,00", "$1.00", "1.", ".5", "+1", "01", "00",
		"-", "-1", "-0", "-0.00", "--1", "1 ", " 1", "1\n", "1.2.3", "١", "1\u00a0", "1/2", "null", "true", `"1"`, "1}", "1,\"x\":2", strings.Repeat("9", 19),
		"0." + strings.Repeat("1", 11),
	}
}

// amountFields finds every Decimal of a struct, as textFields does for texts.
func amountFields(kind reflect.Type, path string, get func(reflect.Value) reflect.Value) map[string]func(params reflect.Value, literal string) {
	found := map[string]func(reflect.Value, string){}
	switch {
	case kind == reflect.TypeFor[unavez.Decimal]():
		found[path] = func(params reflect.Value, literal string) { get(params).SetString(literal) }
	case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct:
		return amountFields(kind.Elem(), path+"[0]", func(params reflect.Value) reflect.Value {
			list := get(params)
			if list.Len() == 0 {
				list.Set(reflect.MakeSlice(kind, 1, 1))
			}
			return list.Index(0)
		})
	case kind.Kind() == reflect.Struct:
		for i := range kind.NumField() {
			if !kind.Field(i).IsExported() {
				continue
			}
			name := strings.TrimPrefix(path+"."+kind.Field(i).Name, ".")
			maps.Copy(found, amountFields(kind.Field(i).Type, name, func(params reflect.Value) reflect.Value { return get(params).Field(i) }))
		}
	}
	return found
}

func TestAmountThatIsNoDecimalLiteralIsRefusedInEveryField(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atFacty, atIpsofactura, atFiscalisto} {
		for _, sender := range textSenders()[:2] {
			if !sender.isAt(provider) {
				continue
			}
			fields := amountFields(reflect.TypeOf(sender.params(provider)).Elem(), "", func(params reflect.Value) reflect.Value { return params })
			require.NotEmpty(t, fields)
			for path, set := range fields {
				t.Run(provider+" "+sender.name+" "+path, func(t *testing.T) {
					t.Parallel()
					for _, literal := range notAmounts() {
						b, params := newMock(t, provider), sender.params(provider)
						set(reflect.ValueOf(params).Elem(), literal)
						err := sender.send(t, b.client, params)
						e := requireError(t, err)
						require.Equal(t, unavez.Refused, e.Disposition, literal)
						require.Empty(t, b.all(), literal)
						require.Contains(t, err.Error(), path, literal)
					}
				})
			}
		}
	}
}

func TestFloatingPointNumberIsRefusedWhereverExtraHoldsIt(t *testing.T) {
	t.Parallel()
	type amount float64
	for name, value := range map[string]any{
		"float64": 1.5, "whole float64": 116.0, "float32": float32(1.5), "named": amount(1), "NaN": math.NaN(), "infinity": math.Inf(1), "in a list": []float64{1},
		"in any list": []any{1, "x", 2.5}, "in a map": map[string]any{"a": 1.5}, "deep": map[string]any{"a": []any{map[string]float64{"b": 1}}},
		"complex": complex(1, 1), "struct": struct{ A float64 }{1}, "pointer": new(float64), "exponent": json.Number("1e3"), "word": json.Number("NaN"),
		"function": func() {}, "channel": make(chan int),
	} {
		for _, provider := range allProviders() {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				for _, sender := range textSenders() {
					if !sender.isAt(provider) {
						continue
					}
					b, params := newMock(t, provider), sender.params(provider)
					reflect.ValueOf(params).Elem().FieldByName("Extra").Set(reflect.ValueOf(map[string]any{"propina": value}))
					e := requireError(t, sender.send(t, b.client, params))
					require.Equal(t, unavez.Refused, e.Disposition)
					require.Contains(t, e.Error(), "propina")
					require.Empty(t, b.all())
				}
			})
		}
	}
}
