package providertest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Secret is planted as an API key. It also stands for the password in an address.
const Secret = "planted-4471-planted"

// Shown is what a provider must be able to do with itself.
type Shown interface {
	fmt.Stringer
	fmt.GoStringer
	fmt.Formatter
	slog.LogValuer
	json.Marshaler
}

// KeepsSecret prints, logs and encodes a provider that holds [Secret], in every container, and requires that its public part is seen and
// the secret is not, in plain text or in hexadecimal.
func KeepsSecret[Provider Shown](t *testing.T, provider Provider, public ...string) {
	t.Helper()
	hidden := []string{Secret, fmt.Sprintf("%x", Secret), fmt.Sprintf("%X", Secret)}
	for name, text := range renderings(t, provider) {
		for _, part := range hidden {
			if strings.Contains(text, part) {
				t.Errorf("%s shows the secret: %s", name, text)
			}
		}
		for _, part := range public {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not show %s: %s", name, part, text)
			}
		}
	}
}

func renderings[Provider Shown](t *testing.T, provider Provider) map[string]string {
	t.Helper()
	type holder struct {
		Name     string
		Provider Provider
		Any      any
	}
	containers := map[string]any{
		"value": provider, "pointer": &provider, "struct": holder{Provider: provider, Any: provider},
		"struct pointer": &holder{Provider: provider, Any: &provider}, "slice": []Provider{provider},
		"array": [1]Provider{provider}, "map": map[string]Provider{"a": provider}, "any map": map[string]any{"a": &provider},
	}
	texts := map[string]string{"String": provider.String(), "GoString": provider.GoString()}
	for container, value := range containers {
		for _, verb := range [...]string{
			"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "% x", "%#x", "%t", "%b", "%o", "%c", "%e", "%U", "%10.3v", "no verb",
		} {
			texts["fmt "+verb+" "+container] = fmt.Sprintf(verb, value)
		}
		texts["log "+container] = fmt.Sprintln(value)
		texts["json "+container] = marshal(t, json.Marshal, value)
		texts["slog json "+container] = inLog(value, func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) })
		texts["slog text "+container] = inLog(value, func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) })
	}
	texts["xml"] = marshal(t, xml.Marshal, provider)
	return texts
}

func marshal(t *testing.T, encode func(any) ([]byte, error), value any) string {
	t.Helper()
	text, err := encode(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func inLog(value any, newHandler func(*bytes.Buffer) slog.Handler) string {
	var b bytes.Buffer
	slog.New(newHandler(&b)).Info("provider", slog.Any("provider", value))
	return b.String()
}
