package unavez_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

func TestDecimalSaysWhatIsWrongWithALiteral(t *testing.T) {
	t.Parallel()
	const notDecimal = "is not a decimal literal: expected digits with an optional sign and fraction, as in 1234.50"
	for literal, problem := range map[string]string{
		"0": "", "-0": "", "100.00": "", "999999999999999999.9999999999": "", "0.0000000001": "",
		"": notDecimal, "-": notDecimal, ".5": notDecimal, "5.": notDecimal, "+1": notDecimal, "01": notDecimal, "00": notDecimal, "1,5": notDecimal,
		"1e3": notDecimal, "NaN": notDecimal, "Infinity": notDecimal, "-Inf": notDecimal, "0x1": notDecimal, " 1": notDecimal, "1 ": notDecimal,
		"1.2.3": notDecimal, "1.-2": notDecimal, "٣": notDecimal, "$5": notDecimal, "1_000": notDecimal,
		"1234567890123456789": "has 19 integer digits, expected at most 18",
		"0.12345678901":       "has 11 decimals, expected at most 10",
	} {
		err := unavez.Decimal(literal).Validate()
		if problem == "" {
			require.NoError(t, err, literal)
			continue
		}
		require.EqualError(t, err, problem, literal)
	}
}

func TestDecimalIsWrittenWithItsOwnDigits(t *testing.T) {
	t.Parallel()
	for _, literal := range []string{"100.00", "1234567.10", "9007199254740993", "0.000001", "-0.10"} {
		body, err := json.Marshal(map[string]unavez.Decimal{"a": unavez.Decimal(literal)})
		require.NoError(t, err)
		require.Equal(t, `{"a":`+literal+`}`, string(body))
	}
}

func TestDecimalThatIsEmptyIsNull(t *testing.T) {
	t.Parallel()
	body, err := json.Marshal(unavez.Decimal(""))
	require.NoError(t, err)
	require.Equal(t, "null", string(body))
	for _, form := range []string{"null", `""`} {
		d := unavez.Decimal("1")
		require.NoError(t, json.Unmarshal([]byte(form), &d), form)
		require.Empty(t, d, form)
	}
}

func TestDecimalThatIsNoLiteralIsNotWritten(t *testing.T) {
	t.Parallel()
	_, err := json.Marshal(unavez.Decimal("NaN"))
	require.Error(t, err)
}

func TestDecimalReadsANumberAndAStringAlike(t *testing.T) {
	t.Parallel()
	for _, form := range []string{`116.00`, `"116.00"`, `"116\u002e00"`} {
		var d unavez.Decimal
		require.NoError(t, json.Unmarshal([]byte(form), &d), form)
		require.Equal(t, unavez.Decimal("116.00"), d)
	}
}

func TestDecimalReadsNothingElse(t *testing.T) {
	t.Parallel()
	for _, form := range []string{`1e3`, `true`, `{}`, `[1]`, `"1e3"`, `" 1"`, `"\ud800"`} {
		d := unavez.Decimal("7")
		require.Error(t, json.Unmarshal([]byte(form), &d), form)
		require.Equal(t, unavez.Decimal("7"), d, form)
	}
}

type amount string

func (a amount) String() string { return string(a) }

func TestDecimalFromAnotherTypeIsItsText(t *testing.T) {
	t.Parallel()
	d, err := unavez.DecimalFrom(amount("19.90"))
	require.NoError(t, err)
	require.Equal(t, unavez.Decimal("19.90"), d)

	_, err = unavez.DecimalFrom(amount("1.99E+1"))
	require.Error(t, err)
	_, err = unavez.DecimalFrom(nil)
	require.Error(t, err)
}

func TestParseDecimalReturnsNothingBesideAnError(t *testing.T) {
	t.Parallel()
	d, err := unavez.ParseDecimal("12,50")
	require.Error(t, err)
	require.NotContains(t, errors.Join(err).Error(), "12,50")
	require.Empty(t, d)
}
