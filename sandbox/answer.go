package sandbox

import (
	"encoding/json"
	"net/http"
	"strconv"
)

const jsonType = "application/json; charset=utf-8"

// An answer is a response that can be kept and sent again byte for byte.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func jsonAnswer(status int, body any) answer {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{status: http.StatusInternalServerError}
	}
	return answer{status: status, header: http.Header{"Content-Type": {jsonType}}, body: text}
}

// with returns a copy that has one more header. The answer itself stays as it
// was, for it may be a stored one.
func (a answer) with(name, value string) answer {
	header := a.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set(name, value)
	a.header = header
	return a
}

// withAll returns a copy that has all the headers given, over its own.
func (a answer) withAll(header http.Header) answer {
	for name, values := range header {
		for i, value := range values {
			if i == 0 {
				a = a.with(name, value)
				continue
			}
			a.header.Add(name, value)
		}
	}
	return a
}

// as returns a copy with another status.
func (a answer) as(status int) answer {
	a.status = status
	return a
}

// send writes the answer with its full Content-Length.
func (a answer) send(w http.ResponseWriter) {
	a.head(w, len(a.body))
	// A client that has gone away is no concern of the server's.
	_, _ = w.Write(a.body)
}

// head writes everything before the body, and announces a body of length n.
func (a answer) head(w http.ResponseWriter, n int) {
	header := w.Header()
	for name, values := range a.header {
		header[name] = append([]string(nil), values...)
	}
	header.Set("Content-Length", strconv.Itoa(n))
	w.WriteHeader(a.status)
}
