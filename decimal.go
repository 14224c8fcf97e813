package unavez

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Limits of a [Decimal]: SAT's schema allows 18 integer digits and 6 decimals for amounts, and 10
// decimals for the equivalence between two currencies.
const (
	decimalIntegerDigits  = 18
	decimalFractionDigits = 10
)

var errNotDecimal = errors.New("is not a decimal literal: expected digits with an optional sign and fraction, as in 1234.50")

// Decimal is an amount, a quantity or a rate, kept as the literal it was written as: "100.00" stays
// "100.00" on the wire, and no value ever passes through a binary floating-point number.
//
// The literal is digits without leading zeros, at most 18 before the point and 10 after it, with an
// optional minus sign; exponents, NaN and infinity do not exist. The empty Decimal means "not given".
// A literal may be assigned directly; it is checked before anything is sent.
type Decimal string

// ParseDecimal returns the literal as a [Decimal], or an error that says what was expected.
func ParseDecimal(literal string) (Decimal, error) {
	d := Decimal(literal)
	if err := d.Validate(); err != nil {
		return "", fmt.Errorf("unavez: text %w", err)
	}
	return d, nil
}

// DecimalFrom takes an amount from another package's decimal type by its text form, for instance
// shopspring's or apd's, and checks it as [ParseDecimal] does.
func DecimalFrom(amount fmt.Stringer) (Decimal, error) {
	if amount == nil {
		return "", errors.New("unavez: decimal is nil")
	}
	return ParseDecimal(amount.String())
}

// Validate reports whether d is a decimal literal. The text of d is not part of the error.
func (d Decimal) Validate() error {
	rest := string(d)
	if rest != "" && rest[0] == '-' {
		rest = rest[1:]
	}
	whole := countDigits(rest)
	if whole == 0 || (whole > 1 && rest[0] == '0') {
		return errNotDecimal
	}
	if whole > decimalIntegerDigits {
		return fmt.Errorf("has %d integer digits, expected at most %d", whole, decimalIntegerDigits)
	}
	rest = rest[whole:]
	if rest == "" {
		return nil
	}
	if rest[0] != '.' {
		return errNotDecimal
	}
	fraction := countDigits(rest[1:])
	if fraction == 0 || fraction != len(rest)-1 {
		return errNotDecimal
	}
	if fraction > decimalFractionDigits {
		return fmt.Errorf("has %d decimals, expected at most %d", fraction, decimalFractionDigits)
	}
	return nil
}

// MarshalJSON writes d as a JSON number with the literal's own digits. The empty Decimal is null.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if d == "" {
		return []byte("null"), nil
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("unavez: text %w", err)
	}
	return []byte(d), nil
}

// UnmarshalJSON reads a JSON number, or a string that holds one, digit by digit. null is the empty Decimal.
func (d *Decimal) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*d = ""
		return nil
	}
	literal := string(data)
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &literal); err != nil {
			return fmt.Errorf("unavez: text %w", errNotDecimal)
		}
		if literal == "" {
			*d = ""
			return nil
		}
	}
	parsed, err := ParseDecimal(literal)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Number returns d as the JSON number that a provider's body takes. It is the same literal.
func (d Decimal) Number() json.Number { return json.Number(d) }

// String returns the literal as written.
func (d Decimal) String() string { return string(d) }

// isNegative reports a minus sign, also before a zero.
func (d Decimal) isNegative() bool { return d != "" && d[0] == '-' }

func countDigits(s string) int {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return i
		}
	}
	return len(s)
}
