// Package encode holds what the providers' encoders have in common: checks that name the parameter, and the rules of
// SAT that hold wherever a document is sent.
package encode

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/unavez/unavez"
)

// Check collects the first parameter that cannot be sent. The zero value is ready; Extra holds the caller's own members, in
// which a required one may be given instead.
type Check struct {
	Extra map[string]any

	err error
}

// Fail names field as wrong.
func (c *Check) Fail(field, problem string) {
	if c.err == nil {
		c.err = unavez.Unsupported(field, problem)
	}
}

// Refuse names field as one that the provider cannot carry, if the caller set it.
func (c *Check) Refuse(field string, isSet bool, problem string) {
	if isSet {
		c.Fail(field, problem)
	}
}

// Require names field as missing, unless the caller set it or gave the member in Extra.
func (c *Check) Require(field string, isSet bool, member string) {
	if !isSet && !c.Has(member) {
		c.Fail(field, "is empty, and Extra has no "+member)
	}
}

// Has reports whether Extra has the member.
func (c *Check) Has(member string) bool {
	_, ok := c.Extra[member]
	return ok
}

// Element returns id as one escaped element of a path.
func (c *Check) Element(field, id string) string {
	switch id {
	case "":
		c.Fail(field, "is empty")
	case ".", "..":
		c.Fail(field, "is not an id but a step in a path")
	}
	for i := range len(id) {
		if id[i] < ' ' || id[i] == 0x7f {
			c.Fail(field, "has a control character at position "+strconv.Itoa(i))
		}
	}
	return url.PathEscape(id)
}

// Err returns the first problem, nil if there is none.
func (c *Check) Err() error { return c.err }

// Row is a check of one element of a list. The name of a field is only built when something is wrong with it.
type Row struct {
	check *Check
	list  string
	index int
}

// Row returns the check of element index of list, for instance "Items".
func (c *Check) Row(list string, index int) Row { return Row{check: c, list: list, index: index} }

// Fail names a field of the row as wrong.
func (r Row) Fail(field, problem string) { r.check.Fail(Index(r.list, r.index)+"."+field, problem) }

// Refuse names a field of the row as one that the provider cannot carry, if the caller set it.
func (r Row) Refuse(field string, isSet bool, problem string) {
	if isSet {
		r.Fail(field, problem)
	}
}

// Require names a field of the row as missing, unless the caller set it.
func (r Row) Require(field string, isSet bool) {
	if !isSet {
		r.Fail(field, "is empty")
	}
}

// Index returns the name of one element of a list, as in "Taxes[1]".
func Index(list string, index int) string { return list + "[" + strconv.Itoa(index) + "]" }

// Body is the body of parameters that may come as Raw: then nothing else may be set, but for what is named in except, as it does not
// belong to the body. Otherwise typed checks the parameters and returns their members. params points to a struct of the SDK.
func Body(
	params any, extra map[string]any, raw json.RawMessage, typed func(check *Check) any, except ...string,
) (unavez.Body, error) {
	if raw != nil {
		return unavez.Body{Raw: raw}, onlyRaw(reflect.ValueOf(params).Elem(), "", except)
	}
	check := Check{Extra: extra}
	members := typed(&check)
	return unavez.Body{Typed: members, Extra: extra}, check.Err()
}

// Bodies makes one body of each element of a list; none of an empty one, so that its member can be left out.
func Bodies[Params, Body any](list []Params, newBody func(index int, params *Params) Body) []Body {
	if len(list) == 0 {
		return nil
	}
	bodies := make([]Body, len(list))
	for i := range list {
		bodies[i] = newBody(i, &list[i])
	}
	return bodies
}

// onlyRaw names the first parameter that is set beside Raw.
func onlyRaw(value reflect.Value, parent string, except []string) error {
	for i := range value.NumField() {
		field, name := value.Field(i), value.Type().Field(i).Name
		if field.IsZero() || parent+name == "Raw" || slices.Contains(except, name) {
			continue
		}
		if field.Kind() == reflect.Struct && field.NumField() > 0 && field.Type().Field(0).IsExported() {
			return onlyRaw(field, parent+name+".", except)
		}
		return unavez.Unsupported(parent+name, "is set beside Raw, which is the whole body")
	}
	return nil
}

// NoOperation is the error for an operation that the provider does not document.
func NoOperation(provider string, operation unavez.OperationName) error {
	return fmt.Errorf("%s documents no request for %s: %w", provider, operation, errors.ErrUnsupported)
}

// IsZero reports whether an amount is written and nothing.
func IsZero(d unavez.Decimal) bool { return d != "" && strings.Trim(string(d), "0.") == "" }
