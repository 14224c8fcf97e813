package unavez

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"unicode/utf8"
)

// FieldError names a parameter that a provider cannot carry or that is not well-formed, and says what was expected. It never
// holds the value.
type FieldError struct {
	// Field is the Go path of the parameter, for instance "Items[2].UnitPrice".
	Field string
	// Problem says what was expected and what was found, without the value.
	Problem string
}

// Error returns the field and the problem.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Unsupported returns the [FieldError] with which a [Provider] refuses a parameter.
func Unsupported(field, problem string) error { return &FieldError{Field: field, Problem: problem} }

// Body is what the body of a write is made of: the typed members and Extra, or Raw. [Body.Encode] is called once per operation.
type Body struct {
	// Typed is a struct with json tags. Its members come first, in the order of its fields.
	Typed any
	// Extra is merged behind the typed members, in the order of its names.
	Extra map[string]any
	// Raw is the whole body. Typed is then not used.
	Raw json.RawMessage
	// KeyMember is the member that carries the key, or that may repeat it beside a header. Empty: the body has no such member.
	KeyMember string
	// Key is the idempotency key.
	Key string
	// KeyIsAdded says that the key travels in the body: it is added to Raw and to Extra if it is not there. A Typed has it as a
	// member of its own.
	KeyIsAdded bool
}

// Encode returns the exact bytes: one JSON object, valid UTF-8, at least "{}".
func (b *Body) Encode() ([]byte, error) {
	if b.Raw != nil {
		return b.encodeRaw()
	}
	body, err := b.encodeTyped()
	if err != nil {
		return nil, err
	}
	if len(b.Extra) == 0 && b.Typed != nil {
		return body, nil // the provider's own type has the key where it belongs
	}
	if len(b.Extra) > 0 {
		if body, err = b.mergeExtra(body); err != nil {
			return nil, err
		}
	}
	return b.withKey(body, "Extra")
}

func (b *Body) encodeRaw() ([]byte, error) {
	if len(b.Extra) > 0 {
		return nil, Unsupported("Extra", "is set beside Raw, which is the whole body")
	}
	if !utf8.Valid(b.Raw) {
		return nil, Unsupported("Raw", "is not valid UTF-8")
	}
	if _, ok := ParseObject(b.Raw); !ok {
		return nil, Unsupported("Raw", "is not one JSON object")
	}
	return b.withKey(bytes.Clone(b.Raw), "Raw")
}

func (b *Body) encodeTyped() ([]byte, error) {
	if b.Typed == nil {
		return []byte("{}"), nil
	}
	body, err := json.Marshal(b.Typed)
	if err != nil {
		return nil, fmt.Errorf("encode body: %w", err)
	}
	return body, nil
}

// withKey checks a key that the caller put into the body, or adds it as the first member.
func (b *Body) withKey(body []byte, field string) ([]byte, error) {
	if b.KeyMember == "" {
		return body, nil
	}
	object, ok := ParseObject(body)
	if !ok {
		return nil, errors.New("encode body: not one JSON object")
	}
	if object.Has(b.KeyMember) {
		if object.Text(b.KeyMember) != b.Key {
			return nil, Unsupported(field, "has "+b.KeyMember+" once more or with another key than the operation's")
		}
		return body, nil
	}
	if !b.KeyIsAdded {
		return body, nil
	}
	return insertMember(body, b.KeyMember, b.Key)
}

func insertMember(body []byte, name, text string) ([]byte, error) {
	member, err := json.Marshal(map[string]string{name: text})
	if err != nil {
		return nil, fmt.Errorf("encode body: %w", err)
	}
	brace := bytes.IndexByte(body, '{')
	rest := bytes.TrimLeft(body[brace+1:], jsonSpace)
	merged := make([]byte, 0, len(body)+len(member))
	merged = append(merged, body[:brace]...)
	merged = append(merged, member[:len(member)-1]...)
	if rest[0] != '}' {
		merged = append(merged, ',')
	}
	return append(merged, body[brace+1:]...), nil
}

func (b *Body) mergeExtra(body []byte) ([]byte, error) {
	object, ok := ParseObject(body)
	if !ok {
		return nil, errors.New("encode body: not one JSON object")
	}
	names := make([]string, 0, len(b.Extra))
	for name := range b.Extra {
		if object.hasFolded(name) { // a server that does not mind the case would take the last one
			return nil, Unsupported("Extra", "would overwrite a member that a typed field or the key fills")
		}
		names = append(names, name)
	}
	sort.Strings(names)
	merged := body[: len(body)-1 : len(body)-1]
	for _, name := range names {
		if err := checkExtra("Extra", name, b.Extra[name]); err != nil {
			return nil, err
		}
		member, err := json.Marshal(map[string]any{name: b.Extra[name]})
		if err != nil {
			return nil, Unsupported("Extra", "holds a value that has no JSON form")
		}
		if len(merged) > 1 {
			merged = append(merged, ',')
		}
		merged = append(merged, member[1:len(member)-1]...)
	}
	return append(merged, '}'), nil
}
