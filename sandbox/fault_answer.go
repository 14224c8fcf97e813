package sandbox

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Status makes the provider refuse the request with a status, a code in its own
// error envelope and headers such as "Retry-After: 3". Nothing is executed, and
// the key is treated as the provider treats it after that status: Ipsofactura
// replays 400, 404, 409 and 422, Fiscalisto keeps the body after 402 and after
// invoice_rejected, everything else leaves the key free. An empty code is replaced
// by the provider's own for that status. See AfterCommit for the same answer after
// the effect.
func Status(status int, code string, header ...string) Fault {
	args := []string{strconv.Itoa(status), fmt.Sprintf("%q", code)}
	for _, line := range header {
		args = append(args, fmt.Sprintf("%q", line))
	}
	return Fault{
		name: fmt.Sprintf("Status(%s)", strings.Join(args, ", ")),
		outcome: outcome{kind: denied, denial: problem{
			status: status, code: code, header: headerOf(header),
		}},
	}
}

// TooMany answers 429 in the provider's envelope, with any text as Retry-After,
// or without that header when it is empty. Nothing is executed.
func TooMany(retryAfter string) Fault {
	denial := problem{status: http.StatusTooManyRequests}
	if retryAfter != "" {
		denial.header = http.Header{"Retry-After": {retryAfter}}
	}
	return Fault{
		name:    fmt.Sprintf("TooMany(%q)", retryAfter),
		outcome: outcome{kind: denied, denial: denial},
	}
}

// HTML answers with the page of a gateway in front of the provider, which does
// not see the request. Headers are given as in Status.
func HTML(status int, header ...string) Fault {
	text := http.StatusText(status)
	page := fmt.Sprintf("<html>\r\n<head><title>%d %s</title></head>\r\n<body>\r\n"+
		"<center><h1>%d %s</h1></center>\r\n<hr><center>gateway</center>\r\n</body>\r\n</html>\r\n",
		status, text, status, text)
	h := headerOf(header)
	h.Set("Content-Type", "text/html")
	f := Raw(status, h, page)
	f.name = fmt.Sprintf("HTML(%d)", status)
	return f
}

// Redirect answers with a status and a Location. The provider does not see the
// request.
func Redirect(status int, location string) Fault {
	f := Raw(status, http.Header{"Location": {location}}, "")
	f.name = fmt.Sprintf("Redirect(%d, %q)", status, location)
	return f
}

// Raw answers with exactly this status, header and body. The provider does not
// see the request, unless AfterCommit says so. Content-Length is added.
func Raw(status int, header http.Header, body string) Fault {
	canned := answer{status: status, header: header.Clone(), body: []byte(body)}
	return Fault{
		name:    fmt.Sprintf("Raw(%d, %q)", status, body),
		before:  true,
		deliver: func(x *exchange, _ answer) { canned.send(x.w) },
	}
}

// Shape answers a lookup with 200 and this JSON in the place of the list.
func Shape(body string) Fault {
	f := Raw(http.StatusOK, http.Header{"Content-Type": {jsonType}}, body)
	f.name = fmt.Sprintf("Shape(%q)", body)
	return f
}

// IgnoreFilter makes a lookup return the whole collection, as a server does that
// does not know the parameter.
func IgnoreFilter() Fault { return Fault{name: "IgnoreFilter()", everything: true} }

// LagLookup makes a lookup see the server as it was d ago: a row is visible d
// after its commit. See WithLookupLag for all lookups.
func LagLookup(d time.Duration) Fault {
	return Fault{name: fmt.Sprintf("LagLookup(%s)", d), lag: d}
}

// headerOf reads header lines; a line without a colon is a header without value.
func headerOf(lines []string) http.Header {
	h := make(http.Header, len(lines))
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return h
}
