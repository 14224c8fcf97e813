package unavez

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Object is a JSON object of which each member is read on its own, so that a member of an odd type, a duplicate or
// an unknown one never spoils the rest. Names are compared exactly, as encoding/json does not.
//
// An Object holds a copy of what it was read from.
type Object struct{ data string }

// ParseObject returns data as an Object. It is false if data is not one well-formed JSON object.
func ParseObject(data []byte) (Object, bool) {
	data = bytes.Trim(data, jsonSpace)
	if len(data) == 0 || data[0] != '{' || !json.Valid(data) {
		return Object{}, false
	}
	return Object{data: string(data)}, true
}

// hasFolded reports a member whose name differs at most in the case of its letters.
func (o Object) hasFolded(name string) bool {
	for member := range o.members {
		if strings.EqualFold(unquote(member), name) {
			return true
		}
	}
	return false
}

// Get returns the JSON of the member, "" if it is absent or appears more than once.
func (o Object) Get(name string) string {
	found := ""
	for member, value := range o.members {
		if !isNamed(member, name) {
			continue
		}
		if found != "" {
			return ""
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
	if value == "" || value[0] != '{' {
		return Object{}, false
	}
	return Object{data: value}, true
}

// pinnedSize is how much of an answer a text of it may keep in memory.
const pinnedSize = 4 << 10

// Text returns a string member, or the literal of a number. Everything else, and text that is not valid UTF-8, is "".
func (o Object) Text(name string) string { return o.textOf(o.Get(name)) }

func (o Object) textOf(value string) string {
	text := scalarText(value)
	if len(o.data) > pinnedSize {
		return strings.Clone(text)
	}
	return text
}

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

func scalarText(value string) string {
	if value == "" || !utf8.ValidString(value) {
		return ""
	}
	switch c := value[0]; {
	case c == '"':
		return unquote(value)
	case c == '-', '0' <= c && c <= '9':
		return value
	}
	return ""
}

func unquote(value string) string {
	if strings.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	var text string
	if json.Unmarshal([]byte(value), &text) != nil {
		return ""
	}
	return text
}

// isNamed compares a quoted member name with name.
//
// An escaped name is compared while it is decoded: an answer may hold a million of them.
func isNamed(quoted, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if len(inner) < len(name) || len(inner) > 6*len(name) {
		return false
	}
	if strings.IndexByte(inner, '\\') < 0 {
		return inner == name
	}
	for i := 0; i < len(inner); name = name[1:] {
		if name == "" {
			return false
		}
		c, size := unescape(inner[i:])
		if size == 0 || c != name[0] {
			return false
		}
		i += size
	}
	return name == ""
}

// unescape returns the first character of a JSON string's inside and how many bytes it takes, or 0 if it is not ASCII: no name
// that is asked for has another.
func unescape(text string) (c byte, size int) {
	if text[0] != '\\' {
		return text[0], 1
	}
	switch text[1] {
	case 'u':
		code, err := strconv.ParseUint(text[2:6], 16, 16)
		if err != nil || code > unicode.MaxASCII {
			return 0, 0
		}
		return byte(code), 6
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	return text[1], 2
}

// isObject reports one well-formed JSON object.
func isObject(data []byte) bool {
	data = bytes.TrimLeft(data, jsonSpace)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}

const jsonSpace = " \t\r\n"

// members yields each member's quoted name and its value. The data is valid JSON, so the scan only has to find the ends.
func (o Object) members(yield func(name, value string) bool) {
	rest := o.data
	if rest == "" {
		return
	}
	rest = skipSpace(rest[1:])
	for rest[0] == '"' {
		name := rest[:stringEnd(rest)]
		rest = skipSpace(rest[len(name):])
		rest = skipSpace(rest[1:])
		value := rest[:valueEnd(rest)]
		if !yield(name, value) {
			return
		}
		rest = skipSpace(rest[len(value):])
		if rest[0] != ',' {
			return
		}
		rest = skipSpace(rest[1:])
	}
}

// elements yields the elements of a valid JSON array.
func elements(array string) func(yield func(value string) bool) {
	return func(yield func(value string) bool) {
		rest := skipSpace(array[1:])
		for rest[0] != ']' {
			value := rest[:valueEnd(rest)]
			if !yield(value) {
				return
			}
			rest = skipSpace(rest[len(value):])
			if rest[0] != ',' {
				return
			}
			rest = skipSpace(rest[1:])
		}
	}
}

func skipSpace(text string) string {
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return text[i:]
		}
	}
	return ""
}

// valueEnd returns the length of the JSON value that data, which is valid JSON, begins with.
func valueEnd(data string) int {
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

func stringEnd(data string) int {
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
