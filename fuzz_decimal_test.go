package unavez_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/unavez/unavez"
)

// FuzzDecimal holds Validate against the grammar as a regular expression, and every literal that it accepts against a round trip
// through JSON, as a number and as a string, that must not change a byte.
func FuzzDecimal(f *testing.F) {
	grammar := regexp.MustCompile(`^-?(0|[1-9]\d{0,17})(\.\d{1,10})?$`)
	for _, literal := range []string{
		"", "0", "-0", "00", "1", "-1", "+1", "01", "100.00", "116.00", "1234567.10", "0.000001", "0.0000000001", "0.00000000001", ".5", "5.", "1,5",
		"1e3", "1E3", "NaN", "Inf", "-Infinity", "0x1p4", " 1", "1 ", "1\n", "1_000", "٣", "--1", "-", ".", "-.5", "9007199254740993",
		"999999999999999999", "1000000000000000000", "999999999999999999.9999999999", "12345678901234567890", "null", `"1"`, "1.2.3", "\x00",
		strings.Repeat("9", 400), "0." + strings.Repeat("0", 400),
	} {
		f.Add(literal)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		d := unavez.Decimal(literal)
		isValid := d.Validate() == nil
		if isValid != grammar.MatchString(literal) {
			t.Fatalf("Validate of %q says %t, the grammar %t", literal, isValid, !isValid)
		}
		parsed, err := unavez.ParseDecimal(literal)
		if (err == nil) != isValid || (isValid && parsed != d) || (!isValid && parsed != "") {
			t.Fatalf("ParseDecimal of %q gives %q and %v", literal, parsed, err)
		}
		body, err := json.Marshal(map[string]unavez.Decimal{"A": d})
		switch {
		case literal == "":
			if string(body) != `{"A":null}` {
				t.Fatalf("the empty Decimal became %s", body)
			}
			return
		case !isValid:
			if err == nil {
				t.Fatalf("%q is no literal and became %s", literal, body)
			}
			requireUnreadable(t, literal)
			return
		}
		if err != nil || string(body) != `{"A":`+literal+`}` {
			t.Fatalf("%q became %s, %v", literal, body, err)
		}
		for _, form := range []string{string(body), `{"A":"` + literal + `"}`} {
			var back map[string]unavez.Decimal
			if err := json.Unmarshal([]byte(form), &back); err != nil || back["A"] != d {
				t.Fatalf("%s came back as %q, %v", form, back["A"], err)
			}
		}
		if d.Number().String() != literal || d.String() != literal {
			t.Fatalf("%q is not kept: %q", literal, d)
		}
	})
}

// requireUnreadable checks that what is no literal is not read as one either, whether it stands in quotes or not.
func requireUnreadable(t *testing.T, literal string) {
	t.Helper()
	quoted, err := json.Marshal(literal)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{literal, string(quoted)} {
		var back unavez.Decimal
		err := json.Unmarshal([]byte(form), &back)
		if err == nil && back != "" && back.Validate() != nil {
			t.Fatalf("%s was read as %q", form, back)
		}
	}
}
