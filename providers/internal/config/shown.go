package config

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
)

const redacted = "[redacted]"

// Shown is what may be seen of a provider's configuration, by fmt, by log/slog and as JSON. It never holds the secret.
type Shown struct {
	// Name is the provider's name.
	Name string
	// BaseURL is shown without user, password, query and fragment.
	BaseURL string
	// Org and Account are left out where they are empty.
	Org, Account string
	// HasAPIKey tells a missing key from a hidden one.
	HasAPIKey bool
}

// members are the names and texts that are shown, in their order.
func (s Shown) members() [][2]string {
	apiKey := "[missing]"
	if s.HasAPIKey {
		apiKey = redacted
	}
	members := [][2]string{{"BaseURL", shownURL(s.BaseURL)}}
	if s.Org != "" {
		members = append(members, [2]string{"Org", s.Org})
	}
	if s.Account != "" {
		members = append(members, [2]string{"Account", s.Account})
	}
	return append(members, [2]string{"APIKey", apiKey})
}

// String returns the text that stands for the configuration under every verb of fmt.
func (s Shown) String() string {
	members := make([]string, 0, 4)
	for _, member := range s.members() {
		members = append(members, member[0]+":"+strconv.Quote(member[1]))
	}
	return s.Name + ".Provider{" + strings.Join(members, ", ") + "}"
}

// Print writes the text, whatever verb and flags were asked for.
func (s Shown) Print(w io.Writer) { _, _ = io.WriteString(w, s.String()) }

// LogValue returns the configuration as a group.
func (s Shown) LogValue() slog.Value {
	attributes := []slog.Attr{slog.String("Provider", s.Name)}
	for _, member := range s.members() {
		attributes = append(attributes, slog.String(member[0], member[1]))
	}
	return slog.GroupValue(attributes...)
}

// MarshalJSON returns the configuration as an object of texts.
func (s Shown) MarshalJSON() ([]byte, error) {
	object := map[string]string{"Provider": s.Name}
	for _, member := range s.members() {
		object[member[0]] = member[1]
	}
	return json.Marshal(object)
}

// shownURL drops the places of an address in which secrets hide. An address that cannot be read is not shown at all.
func shownURL(address string) string {
	if address == "" {
		return ""
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Opaque != "" {
		return "[malformed]"
	}
	return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path, RawPath: parsed.RawPath}).String()
}
