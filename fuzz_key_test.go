package unavez_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"

	"github.com/unavez/unavez"
)

// derivation is what a key is derived from.
type derivation struct {
	namespace   string
	environment unavez.Environment
	kind, id    string
}

// FuzzDeriveKey derives keys from two records at all four providers: two records never share a key, every key fits its provider's
// rule, and its readable part reads back as the record.
func FuzzDeriveKey(f *testing.F) {
	long := strings.Repeat("folio-", 60)
	for _, seed := range [][6]string{
		{"mi-erp", "factura", "4471", "mi-erp", "factura", "4472"},
		{"a", "b:c", "d", "a", "b", "c:d"},
		{"a:b", "c", "d", "a", "b:c", "d"},
		{"a", "Peña", "1", "a", "Pena", "1"},
		{"a", "%", "1", "a", "%25", "1"},
		{"a", "~", "1", "a", "%7E", "1"},
		{"a", "b", long + "1", "a", "b", long + "2"},
		{"a", "b", "", "a", "", "b"},
		{"", "", "", "", "", ""},
		{"a", "\xff", "1", "a", "\xfe", "1"},
		{"a", "b ", "1", "a", "b", "1"},
		{"A", "b", "1", "a", "b", "1"},
		{"a", "b", "../x", "a", "b", "x"},
		{"a", "b\x00", "c", "a", "b", "c"},
		{long, "b", "1", long, "b", "2"},
		{"a", "b", strings.Repeat("ñ", 30), "a", "b", strings.Repeat("ñ", 31)},
		{"prod", "test", "1", "test", "prod", "1"},
	} {
		f.Add(seed[0], seed[1], seed[2], true, seed[3], seed[4], seed[5], true)
		f.Add(seed[0], seed[1], seed[2], true, seed[3], seed[4], seed[5], false)
	}
	f.Fuzz(func(t *testing.T, ns1, kind1, id1 string, prod1 bool, ns2, kind2, id2 string, prod2 bool) {
		a := derivation{ns1, environmentOf(prod1), kind1, id1}
		b := derivation{ns2, environmentOf(prod2), kind2, id2}
		for _, provider := range []string{"facty", "ipsofactura", "fiscalisto", "payouts"} {
			keyOfA, isDerivedA := a.derive(t, provider)
			keyOfB, isDerivedB := b.derive(t, provider)
			if isDerivedA {
				a.check(t, provider, keyOfA)
			}
			if isDerivedA && isDerivedB && (a == b) != (keyOfA == keyOfB) {
				t.Fatalf("at %s %+v has the key %q, %+v has %q", provider, a, keyOfA, b, keyOfB)
			}
		}
	})
}

func environmentOf(isProduction bool) unavez.Environment {
	if isProduction {
		return unavez.Production
	}
	return unavez.Test
}

// derive reports false for an empty part, which must be refused.
func (d derivation) derive(t *testing.T, provider string) (string, bool) {
	t.Helper()
	options := []unavez.ClientOption{unavez.WithEnvironment(d.environment)}
	if d.namespace != "" {
		options = append(options, unavez.WithNamespace(d.namespace))
	}
	client, err := unavez.New(propertyProvider(provider), options...)
	if err != nil {
		t.Fatal(err)
	}
	key, err := client.DeriveKey(d.kind, d.id)
	if isWhole := d.namespace != "" && d.kind != "" && d.id != ""; isWhole != (err == nil) {
		t.Fatalf("%+v gives %q and %v", d, key, err)
	}
	return key, err == nil
}

// check reads the key back.
func (d derivation) check(t *testing.T, provider, key string) {
	t.Helper()
	profile, err := propertyProvider(provider).Profile(d.environment)
	if err != nil {
		t.Fatal(err)
	}
	if err := profile.Key.Check(key); err != nil {
		t.Fatalf("at %s %+v gives a key that does not fit: %v", provider, d, err)
	}
	readable, hash, isShort := strings.Cut(key, "~")
	if !isShort {
		if back := decodeKey(t, key); back != d {
			t.Fatalf("the key %q of %+v reads back as %+v", key, d, back)
		}
		return
	}
	whole := d.whole()
	sum := sha256.Sum256([]byte(whole))
	if len(whole) <= profile.Key.Max || len(key) != profile.Key.Max || hash != hex.EncodeToString(sum[:16]) {
		t.Fatalf("at %s the key %q of %d characters is no short form of %q", provider, key, len(key), whole)
	}
	if !strings.HasPrefix(whole, readable) {
		t.Fatalf("the readable part %q is not the head of %q", readable, whole)
	}
}

func decodeKey(t *testing.T, key string) derivation {
	t.Helper()
	parts := strings.Split(key, ":")
	if len(parts) != 4 {
		t.Fatalf("the key %q has %d parts", key, len(parts))
	}
	for i := range parts {
		text, err := url.PathUnescape(parts[i])
		if err != nil {
			t.Fatalf("part %d of the key %q is not percent-encoded: %v", i, key, err)
		}
		parts[i] = text
	}
	return derivation{parts[0], unavez.Environment(parts[1]), parts[2], parts[3]}
}

// whole is the key at full length, written down a second time.
func (d derivation) whole() string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"
	parts := []string{d.namespace, string(d.environment), d.kind, d.id}
	for i, part := range parts {
		var b strings.Builder
		for _, c := range []byte(part) {
			if strings.IndexByte(plain, c) >= 0 {
				b.WriteByte(c)
			} else {
				b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
			}
		}
		parts[i] = b.String()
	}
	return strings.Join(parts, ":")
}
