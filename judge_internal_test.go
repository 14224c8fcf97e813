package unavez

import "net/http"

// Judged is what a client makes of one answer to a write, for tests that know the providers (which this package cannot import).
type Judged struct {
	Effect      Effect
	Disposition Disposition
	Code        string
	FieldErrors map[string]string
	HasDocument bool
	IsResent    bool
}

// JudgeForTest judges an answer to an operation that was encoded with [Client.Prepare].
func (c *Client) JudgeForTest(intent *Intent, status int, header http.Header, body []byte) Judged {
	x := &exchange{answer: &Answer{Status: status, Header: header, Body: body}}
	d := c.judge(intent, x)
	return Judged{
		Effect: d.effect, Disposition: d.disposition, Code: d.code, FieldErrors: d.fieldErrors, HasDocument: d.document != nil,
		IsResent: d.then == StepResend,
	}
}
