package sandbox

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
)

// object is a JSON object whose members are not decoded yet.
type object map[string]json.RawMessage

// parseObject reports false for anything but one JSON object.
func parseObject(text []byte) (object, bool) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil || o == nil {
		return nil, false
	}
	return o, true
}

// text returns a member that is a string, or "".
func (o object) text(name string) string {
	var s string
	if err := json.Unmarshal(o[name], &s); err != nil {
		return ""
	}
	return s
}

// scalar returns a member that is a string or a number as text, or "".
func (o object) scalar(name string) string {
	if s := o.text(name); s != "" {
		return s
	}
	if decimal(o[name]) == nil {
		return ""
	}
	return string(bytes.TrimSpace(o[name]))
}

// truth reports whether a member is true.
func (o object) truth(name string) bool { return string(bytes.TrimSpace(o[name])) == "true" }

// list returns a member that is an array of objects; ok is false when it is
// something else, and true when it is missing.
func (o object) list(name string) (items []object, ok bool) {
	if !o.has(name) {
		return nil, true
	}
	if err := json.Unmarshal(o[name], &items); err != nil || items == nil {
		return nil, false
	}
	return items, true
}

// has reports whether a member is there and not null.
func (o object) has(name string) bool {
	value := bytes.TrimSpace(o[name])
	return len(value) > 0 && string(value) != "null"
}

// number returns a member that is a number, or else zero.
func (o object) number(name string) *big.Rat {
	if r := decimal(o[name]); r != nil {
		return r
	}
	return new(big.Rat)
}

// badText returns the names of those members that are there and not strings.
func (o object) badText(names ...string) []string {
	return o.bad(names, func(value json.RawMessage) bool {
		var s string
		return json.Unmarshal(value, &s) == nil
	})
}

// badNumbers returns the names of those members that are there and not plain
// decimal numbers. A number in quotes is none.
func (o object) badNumbers(names ...string) []string {
	return o.bad(names, func(value json.RawMessage) bool { return decimal(value) != nil })
}

func (o object) bad(names []string, good func(json.RawMessage) bool) []string {
	var out []string
	for _, name := range names {
		if o.has(name) && !good(o[name]) {
			out = append(out, name)
		}
	}
	return out
}

// decimal reads a JSON number exactly, or returns nil. Exponents are refused, as
// is a literal longer than any amount: a short text could stand for a number
// that fills the memory.
func decimal(value json.RawMessage) *big.Rat {
	text := strings.TrimSpace(string(value))
	if text == "" || len(text) > 64 || strings.Trim(text, "0123456789.-") != "" {
		return nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// money writes an amount with two decimals, rounded half away from zero.
func money(r *big.Rat) json.Number { return json.Number(r.FloatString(2)) }
