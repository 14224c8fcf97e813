package unavez

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Object is a JSON object of which each member is read on its own, so that a member of an odd type, a duplicate or
// an unknown one never spoils the rest. Names are compared exactly, as encoding/json does not.
//
// An Object shares the bytes that it was read from.
type Object struct{ data []byte }

// ParseObject returns data as an Object. It is false if data is not one well-formed JSON object.
func ParseObject(data []byte) (Object, bool) {
	data = bytes.TrimLeft(data, jsonSpace)
	if len(data) == 0 || data[0] != '{' || !json.Valid(data) {
		return Object{}, false
	}
	return Object{data: data}, true
}

// Get returns the bytes of the member, nil if it is absent or appears more than once.
func (o Object) Get(name string) json.RawMessage {
	var found json.RawMessage
	for member, value := range o.members {
		if !isNamed(member, name) {
			continue
		}
		if found != nil {
			return nil
		}
		found = value
	}
	return found
}

// Has reports whether the member appears at least once.
func (o Object) Has(name string) bool {
	for member := range o.members {
		if isNamed(member, name) {
			return true
		}
	}
	return false
}

// Object returns the member as an Object; false if it is absent or of another type.
func (o Object) Object(name string) (Object, bool) {
	value := o.Get(name)
	if len(value) == 0 || value[0] != '{' {
		return Object{}, false
	}
	return Object{data: value}, true
}

// Text returns a string member, or the literal of a number. Everything else, and text that is not valid UTF-8, is "".
func (o Object) Text(name string) string { return scalarText(o.Get(name)) }

// first returns the first of the named members that has a text.
func (o Object) first(names []string) string {
	for _, name := range names {
		if text := o.Text(name); text != "" {
			return text
		}
	}
	return ""
}

// path returns the text at a dotted path such as "error.code".
func (o Object) path(names []string) string {
	if len(names) == 0 {
		return ""
	}
	for _, name := range names[:len(names)-1] {
		inner, ok := o.Object(name)
		if !ok {
			return ""
		}
		o = inner
	}
	return o.Text(names[len(names)-1])
}

func scalarText(value json.RawMessage) string {
	if len(value) == 0 || !utf8.Valid(value) {
		return ""
	}
	switch c := value[0]; {
	case c == '"':
		return unquote(value)
	case c == '-', '0' <= c && c <= '9':
		return string(value)
	}
	return ""
}

func unquote(value []byte) string {
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1])
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}

// isNamed compares a quoted member name with name.
func isNamed(quoted []byte, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	return unquote(quoted) == name
}

const jsonSpace = " \t\r\n"

// members yields each member's quoted name and its value. The data is valid JSON, so the scan only has to find the ends.
func (o Object) members(yield func(name, value []byte) bool) {
	rest := o.data
	if len(rest) == 0 {
		return
	}
	rest = bytes.TrimLeft(rest[1:], jsonSpace)
	for len(rest) > 0 && rest[0] == '"' {
		name := rest[:valueEnd(rest)]
		rest = bytes.TrimLeft(rest[len(name):], jsonSpace)
		rest = bytes.TrimLeft(rest[1:], jsonSpace)
		value := rest[:valueEnd(rest)]
		if !yield(name, value) {
			return
		}
		rest = bytes.TrimLeft(rest[len(value):], jsonSpace)
		rest = bytes.TrimLeft(rest[1:], jsonSpace)
	}
}

// elements yields the elements of a valid JSON array.
func elements(array []byte) func(yield func(value []byte) bool) {
	return func(yield func(value []byte) bool) {
		rest := bytes.TrimLeft(array[1:], jsonSpace)
		for len(rest) > 0 && rest[0] != ']' {
			value := rest[:valueEnd(rest)]
			if !yield(value) {
				return
			}
			rest = bytes.TrimLeft(rest[len(value):], jsonSpace)
			rest = bytes.TrimLeft(rest[1:], jsonSpace)
		}
	}
}

// valueEnd returns the length of the JSON value that data, which is valid JSON, begins with.
func valueEnd(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i += stringEnd(data[i:]) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(data)
}

func stringEnd(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}
