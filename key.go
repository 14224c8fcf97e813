package unavez

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// derivedHashLength is the number of hexadecimal digits (four bits each) behind the "~" of a shortened key.
const derivedHashLength = 32

// KeyRule is what a provider accepts as an idempotency key, and where the key travels. Every key is
// printable ASCII without a space; what differs is the length and the place.
type KeyRule struct {
	// Min and Max are the shortest and the longest key, in characters. Both count.
	Min, Max int
	// Header is the request header that carries the key. Empty: the key travels in the body, and
	// the provider's Encode puts it there.
	Header string
}

// Check reports whether key may be sent. The error tells the rule and the position of a wrong byte, never the key.
func (r KeyRule) Check(key string) error {
	if len(key) < r.Min || len(key) > r.Max {
		return fmt.Errorf("has %d characters, expected %d to %d printable ASCII characters without a space", len(key), r.Min, r.Max)
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return fmt.Errorf("has byte 0x%02x at position %d, expected %d to %d printable ASCII characters without a space", key[i], i, r.Min, r.Max)
		}
	}
	return nil
}

// deriveKey joins the parts into "namespace:environment:kind:id". It is injective: every byte of a part that does
// not stand for itself is percent-encoded, the separator included. A key longer than limit keeps its
// readable head and ends in "~" and a hash of the whole; "~" is encoded in parts, so the two forms cannot meet.
func deriveKey(namespace string, environment Environment, kind, id string, limit int) (string, error) {
	parts := [...]struct{ name, text string }{
		{"namespace", namespace}, {"environment", string(environment)}, {"kind", kind}, {"id", id},
	}
	size := len(parts) - 1
	for _, part := range parts {
		if part.text == "" {
			return "", fmt.Errorf("%s is empty, expected a text to derive the idempotency key from", part.name)
		}
		size += escapedLength(part.text)
	}
	whole := make([]byte, 0, size)
	for i, part := range parts {
		if i > 0 {
			whole = append(whole, ':')
		}
		whole = appendEscaped(whole, part.text)
	}
	if len(whole) <= limit {
		return string(whole), nil
	}
	return shortenKey(whole, limit)
}

var errKeyLimitTooSmall = errors.New("the provider's longest key leaves no room for a hash")

func shortenKey(whole []byte, limit int) (string, error) {
	head := limit - derivedHashLength - 1
	if head < 1 {
		return "", errKeyLimitTooSmall
	}
	sum := sha256.Sum256(whole)
	var b strings.Builder
	b.Grow(limit)
	b.Write(whole[:head])
	b.WriteByte('~')
	b.WriteString(hex.EncodeToString(sum[:derivedHashLength/2]))
	return b.String(), nil
}

// identityLength is the longest key that is its own identity; no provider takes less than that.
const identityLength = 64

// keyIdentity names the record behind a key, whichever provider's limit has shortened it: a key that may be shortened somewhere
// is known by the hash that a shortened one ends in.
func keyIdentity(key string) string {
	if len(key) <= identityLength {
		return key
	}
	if tail := len(key) - derivedHashLength - 1; key[tail] == '~' {
		return key[tail:]
	}
	sum := sha256.Sum256([]byte(key))
	return "~" + hex.EncodeToString(sum[:derivedHashLength/2])
}

const upperHex = "0123456789ABCDEF"

func appendEscaped(dst []byte, part string) []byte {
	for i := range len(part) {
		c := part[i]
		if standsForItself(c) {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', upperHex[c>>4], upperHex[c&0x0f])
	}
	return dst
}

func escapedLength(part string) int {
	length := len(part)
	for i := range len(part) {
		if !standsForItself(part[i]) {
			length += 2
		}
	}
	return length
}

func standsForItself(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '.' || c == '_' || c == '-' || c == '/'
}
