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
	return checkValue(value, func() string { return "" })
}

// checkValue takes the path as a function, so that no text is built unless something is wrong.
func checkValue(value reflect.Value, path func() string) error {
	switch value.Kind() {
	case reflect.String:
		return checkText(value, path)
	case reflect.Struct:
		return checkStruct(value, path)
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return nil // XML and Raw have checks of their own.
		}
		for i := range value.Len() {
			if err := checkValue(value.Index(i), func() string { return path() + "[" + strconv.Itoa(i) + "]" }); err != nil {
				return err
			}
		}
	case reflect.Pointer:
		if !value.IsNil() {
			return checkValue(value.Elem(), path)
		}
	default:
	}
	return nil
}

func checkStruct(value reflect.Value, path func() string) error {
	if value.Type() == reflect.TypeFor[time.Time]() {
		return nil
	}
	for i := range value.NumField() {
		field := func() string {
			name := value.Type().Field(i).Name
			if parent := path(); parent != "" {
				return parent + "." + name
			}
			return name
		}
		if err := checkValue(value.Field(i), field); err != nil {
			return err
		}
	}
	return nil
}

func checkText(value reflect.Value, path func() string) error {
	text := value.String()
	if value.Type() == reflect.TypeFor[Decimal]() {
		return checkDecimal(Decimal(text), path)
	}
	if !utf8.ValidString(text) {
		return &FieldError{Field: orParams(path()), Problem: "is not valid UTF-8"}
	}
	return nil
}

func checkDecimal(d Decimal, path func() string) error {
	if d == "" {
		return nil
	}
	if err := d.Validate(); err != nil {
		return &FieldError{Field: path(), Problem: err.Error()}
	}
	if d.isNegative() {
		return &FieldError{Field: path(), Problem: "is negative, expected zero or more"}
	}
	return nil
}

func orParams(path string) string {
	if path == "" {
		return "params"
	}
	return path
}

// checkExtra accepts what has one exact JSON form: nil, bool, integers, texts, Decimal, json.Number, json.RawMessage, and slices and
// string-keyed maps of those. A floating-point number has none: it would be an amount that was rounded already.
func checkExtra(path, name string, value any) error {
	if !utf8.ValidString(name) {
		return &FieldError{Field: path, Problem: "has a name that is not valid UTF-8"}
	}
	return checkExtraValue(path+"["+strconv.QuoteToASCII(name)+"]", value)
}

func checkExtraValue(path string, value any) error {
	switch v := value.(type) {
	case nil, bool:
		return nil
	case Decimal:
		return checkDecimal(v, func() string { return path })
	case json.Number:
		return checkDecimal(Decimal(v), func() string { return path })
	case json.RawMessage:
		if !utf8.Valid(v) || !json.Valid(v) {
			return &FieldError{Field: path, Problem: "is not one valid JSON value in UTF-8"}
		}
		return nil
	}
	return checkExtraKind(path, reflect.ValueOf(value))
}

func checkExtraKind(path string, value reflect.Value) error {
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
			if err := checkExtraValue(path+"["+strconv.Itoa(i)+"]", value.Index(i).Interface()); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		return checkExtraMap(path, value)
	case reflect.Float32, reflect.Float64:
		return &FieldError{Field: path, Problem: "is a floating-point number, expected Decimal, json.Number or an integer"}
	default:
		return &FieldError{Field: path, Problem: fmt.Sprintf("has the Go type %s, expected text, bool, integer, Decimal, slice or map", value.Type())}
	}
}

func checkExtraMap(path string, value reflect.Value) error {
	if value.Type().Key().Kind() != reflect.String {
		return &FieldError{Field: path, Problem: "is a map whose keys are not texts"}
	}
	for _, key := range value.MapKeys() {
		if err := checkExtra(path, key.String(), value.MapIndex(key).Interface()); err != nil {
			return err
		}
	}
	return nil
}
