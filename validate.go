package unavez

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"
)

// checkParams walks the parameters of an operation: every text must be valid UTF-8 and every Decimal a literal that is not
// negative. encoding/json would replace invalid bytes without a word, and a customer would be stamped under another name.
func checkParams(params any) error {
	value := reflect.ValueOf(params)
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if wrong := checkValue(value); wrong != nil {
		if wrong.Field == "" {
			wrong.Field = "params"
		}
		return wrong
	}
	return nil
}

// checkValue returns what is wrong with a value. Its callers put the path together on the way back, so that none is built
// for parameters that are right.
func checkValue(value reflect.Value) *FieldError {
	switch value.Kind() {
	case reflect.String:
		return checkText(value)
	case reflect.Struct:
		return checkStruct(value)
	case reflect.Slice:
		return checkSlice(value)
	case reflect.Pointer:
		if !value.IsNil() {
			return checkValue(value.Elem())
		}
	default:
	}
	return nil
}

func checkSlice(value reflect.Value) *FieldError {
	if value.Type().Elem().Kind() == reflect.Uint8 {
		return nil // XML and Raw have checks of their own.
	}
	for i := range value.Len() {
		if wrong := checkValue(value.Index(i)); wrong != nil {
			return wrong.under("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

func checkStruct(value reflect.Value) *FieldError {
	if value.Type() == reflect.TypeFor[time.Time]() {
		return nil
	}
	for i := range value.NumField() {
		if wrong := checkValue(value.Field(i)); wrong != nil {
			return wrong.under(value.Type().Field(i).Name)
		}
	}
	return nil
}

// under puts the name of what holds the field in front of its path.
func (e *FieldError) under(parent string) *FieldError {
	if e.Field != "" && e.Field[0] != '[' {
		parent += "."
	}
	e.Field = parent + e.Field
	return e
}

func checkText(value reflect.Value) *FieldError {
	text := value.String()
	if value.Type() == reflect.TypeFor[Decimal]() {
		return checkDecimal(Decimal(text))
	}
	if !utf8.ValidString(text) {
		return &FieldError{Problem: "is not valid UTF-8"}
	}
	return nil
}

func checkDecimal(d Decimal) *FieldError {
	if d == "" {
		return nil
	}
	if err := d.Validate(); err != nil {
		return &FieldError{Problem: err.Error()}
	}
	if d.isNegative() {
		return &FieldError{Problem: "is negative, expected zero or more"}
	}
	return nil
}

// checkExtra accepts what has one exact JSON form: nil, bool, integers, texts, Decimal, json.Number, json.RawMessage, and slices and
// string-keyed maps of those. A floating-point number has none: it would be an amount that was rounded already.
func checkExtra(path, name string, value any) error {
	if !utf8.ValidString(name) {
		return &FieldError{Field: path, Problem: "has a name that is not valid UTF-8"}
	}
	return checkExtraValue(path+"["+strconv.QuoteToASCII(name)+"]", value, 0)
}

// extraDepth is how deep a value of Extra may be nested: deeper is a cycle, or nothing that a provider takes.
const extraDepth = 32

func checkExtraValue(path string, value any, depth int) error {
	if depth > extraDepth {
		return &FieldError{Field: path, Problem: "is nested deeper than " + strconv.Itoa(extraDepth) + " levels"}
	}
	switch v := value.(type) {
	case nil, bool:
		return nil
	case Decimal:
		return checkExtraDecimal(path, v)
	case json.Number:
		return checkExtraDecimal(path, Decimal(v))
	case json.RawMessage:
		if !utf8.Valid(v) || !json.Valid(v) {
			return &FieldError{Field: path, Problem: "is not one valid JSON value in UTF-8"}
		}
		return nil
	}
	return checkExtraKind(path, reflect.ValueOf(value), depth)
}

func checkExtraDecimal(path string, d Decimal) error {
	if d == "" { // encoding/json would make it 0
		return &FieldError{Field: path, Problem: "is an empty number"}
	}
	if wrong := checkDecimal(d); wrong != nil {
		return wrong.under(path)
	}
	return nil
}

func checkExtraKind(path string, value reflect.Value, depth int) error {
	switch kind := value.Kind(); kind {
	case reflect.String:
		if !utf8.ValidString(value.String()) {
			return &FieldError{Field: path, Problem: "is not valid UTF-8"}
		}
		return nil
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return nil
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			if err := checkExtraValue(path+"["+strconv.Itoa(i)+"]", value.Index(i).Interface(), depth+1); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		return checkExtraMap(path, value, depth)
	case reflect.Float32, reflect.Float64:
		return &FieldError{Field: path, Problem: "is a floating-point number, expected Decimal, json.Number or an integer"}
	default:
		return &FieldError{Field: path, Problem: fmt.Sprintf("has the Go type %s, expected text, bool, integer, Decimal, slice or map", value.Type())}
	}
}

// checkExtraMap does not name the keys: below the first level they may be data.
func checkExtraMap(path string, value reflect.Value, depth int) error {
	if value.Type().Key().Kind() != reflect.String {
		return &FieldError{Field: path, Problem: "is a map whose keys are not texts"}
	}
	for _, key := range value.MapKeys() {
		if !utf8.ValidString(key.String()) {
			return &FieldError{Field: path, Problem: "has a name that is not valid UTF-8"}
		}
		if err := checkExtraValue(path+"[…]", value.MapIndex(key).Interface(), depth+1); err != nil {
			return err
		}
	}
	return nil
}
