package sandbox

import "net/http"

// codeOf returns the code of a problem, or what the provider calls its status.
func codeOf(p problem, named func(status int) string) string {
	if p.code != "" {
		return p.code
	}
	if code := named(p.status); code != "" {
		return code
	}
	return "ERROR"
}

func messageOf(p problem) string {
	if p.message != "" {
		return p.message
	}
	return orDefault(http.StatusText(p.status), "error")
}
