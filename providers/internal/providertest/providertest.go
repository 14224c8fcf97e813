// Package providertest holds the tests that every provider must pass.
package providertest

import (
	"bytes"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unavez/unavez"
)

// EveryField sets each field that parameters have, one at a time, on top of valid ones, and requires that the encoded bytes
// change or that the error names the field: nothing is dropped. newValid returns fresh parameters each time; encode must not change them.
func EveryField[Params any](t *testing.T, newValid func() *Params, encode func(*Params) ([]byte, error)) {
	t.Helper()
	unchanged, err := encode(newValid())
	if err != nil {
		t.Fatalf("valid parameters are refused: %v", err)
	}
	for _, path := range leaves(reflect.TypeFor[Params](), "") {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			params, twin := newValid(), newValid()
			setLeaf(t, reflect.ValueOf(params).Elem(), strings.Split(path, "."))
			setLeaf(t, reflect.ValueOf(twin).Elem(), strings.Split(path, "."))
			body, err := encode(params)
			if !reflect.DeepEqual(twin, params) {
				t.Error("the caller's parameters were changed")
			}
			switch {
			case err != nil:
				requireNamed(t, err, path)
			case bytes.Equal(unchanged, body):
				t.Errorf("%s was dropped", path)
			}
		})
	}
}

// requireNamed accepts an error about the field, about what holds it, or about another field that tells of it.
func requireNamed(t *testing.T, err error, path string) {
	t.Helper()
	field := fieldOf(t, err)
	indexed := strings.NewReplacer("Items", "Items[0]", "Taxes", "Taxes[0]", "Documents", "Documents[0]", "Related", "Related[0]").Replace(path)
	leaf := path[strings.LastIndexByte(path, '.')+1:]
	if field.Field == path || strings.HasPrefix(indexed, field.Field) || strings.Contains(field.Problem, leaf) {
		return
	}
	t.Errorf("%s: the error names %s and not the field: %v", path, field.Field, err)
}

// fieldOf returns the error that names a field.
func fieldOf(t *testing.T, err error) *unavez.FieldError {
	t.Helper()
	var field *unavez.FieldError
	if !errors.As(err, &field) {
		t.Fatalf("no field is named: %v", err)
	}
	return field
}

// leaves lists the paths of all fields, through structs, pointers and the elements of slices.
func leaves(of reflect.Type, parent string) []string {
	var paths []string
	for i := range of.NumField() {
		field := of.Field(i)
		inner := field.Type
		if inner.Kind() == reflect.Pointer || (inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct) {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]() {
			paths = append(paths, leaves(inner, parent+field.Name+".")...)
			continue
		}
		paths = append(paths, parent+field.Name)
	}
	return paths
}

func setLeaf(t *testing.T, value reflect.Value, path []string) {
	t.Helper()
	for _, name := range path {
		value = value.FieldByName(name)
		switch {
		case value.Kind() == reflect.Pointer:
			if value.IsNil() {
				value.Set(reflect.New(value.Type().Elem()))
			}
			value = value.Elem()
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
			if value.Len() == 0 {
				value.Set(reflect.Append(value, reflect.Zero(value.Type().Elem())))
			}
			value = value.Index(0)
		}
	}
	setSample(t, value)
}

func setSample(t *testing.T, value reflect.Value) {
	t.Helper()
	switch value.Interface().(type) {
	case unavez.Decimal:
		value.SetString("7.25")
		return
	case time.Time:
		value.Set(reflect.ValueOf(time.Date(2031, 7, 7, 7, 7, 7, 0, time.UTC)))
		return
	case map[string]any:
		value.Set(reflect.ValueOf(map[string]any{"zz_extra": "ZZ"}))
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString("ZZ-7")
	case reflect.Int:
		value.SetInt(7)
	case reflect.Bool:
		value.SetBool(!value.Bool())
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			value.SetBytes([]byte(`{"zz":7}`))
			return
		}
		value.Set(reflect.ValueOf([]string{"ZZ-7"}))
	default:
		t.Fatalf("no sample for %s", value.Type())
	}
}

// Refusal is one row of a table of parameters that must be refused by name: the path that the error must name, and what makes valid
// parameters wrong. It is an alias without a name of its own, so that rows can be written without field names.
type Refusal[Params any] = struct {
	Field  string
	Change func(*Params)
}

// Refusals requires that every change is refused, and that the error names the field and holds no value.
func Refusals[Params any](t *testing.T, newValid func() *Params, encode func(*Params) ([]byte, error), rows []Refusal[Params]) {
	t.Helper()
	for i, row := range rows {
		t.Run(strconv.Itoa(i)+" "+row.Field, func(t *testing.T) {
			t.Parallel()
			params := newValid()
			row.Change(params)
			_, err := encode(params)
			if field := fieldOf(t, err); field.Field != row.Field {
				t.Errorf("the error names %s: %v", field.Field, err)
			}
			if strings.Contains(err.Error(), Private) {
				t.Errorf("the error holds a value: %v", err)
			}
		})
	}
}

// Private is a text for tests that no error may repeat.
const Private = "PRIVATE-VALUE"

// Unsupported requires that the provider refuses the operations, and says so in a way that a caller can match.
func Unsupported(t *testing.T, provider unavez.Provider, operations ...*unavez.Operation) {
	t.Helper()
	for _, operation := range operations {
		if _, err := provider.Encode(operation); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: got %v", operation.Name, err)
		}
	}
}
