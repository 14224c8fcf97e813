package unavez

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// finding is what one lookup said.
type finding struct {
	state    foundState
	document *document
	uuid     string
	// uuids are those of all rows that are ours, where there is more than one.
	uuids []string
	// mayBeOld says that a failed row may be from before the write.
	mayBeOld bool
	// answer holds status, code, message, request id and Retry-After of the lookup's own answer.
	answer decision
}

type foundState uint8

const (
	// foundNothing: the lookup failed, or its answer has no shape that teaches anything.
	foundNothing foundState = iota
	foundDone
	foundPending
	foundFailed
	foundEmpty
	foundNoProof
	foundUnknownWord
	foundMismatch
	foundDuplicate
	foundContradiction
)

// get performs one GET and returns what came back. It never follows a redirect and never changes anything.
func (c *Client) get(ctx context.Context, request *Request, timeout time.Duration) *exchange {
	x := &exchange{timeout: timeout}
	x.reset()
	httpRequest, err := http.NewRequestWithContext(exchangeContext{ctx, x}, http.MethodGet, c.profile.BaseURL+request.Path, http.NoBody)
	if err != nil {
		x.err = err
		return x
	}
	httpRequest.Header = c.newHeader("", false)
	response, err := c.http.Do(httpRequest)
	if x.answer == nil && x.err == nil { // it ended above the attempt
		x.err = err
	}
	if response != nil {
		_ = response.Body.Close()
	}
	return x
}

// exchangeContext carries the exchange of a read.
type exchangeContext struct {
	context.Context //nolint:containedctx // it is a context

	exchange *exchange
}

// Value implements [context.Context].
func (c exchangeContext) Value(key any) any {
	if _, ok := key.(exchangeKey); ok {
		return c.exchange
	}
	return c.Context.Value(key)
}

// read turns the answer of a lookup into a finding.
func (c *Client) read(intent *Intent, rows *Rows, x *exchange) finding {
	if x.answer == nil {
		return finding{answer: c.judgeTransport(x)}
	}
	found := finding{answer: c.newDecision(x.answer)}
	switch status := x.answer.Status; {
	case status == http.StatusNotFound && rows.MayBeAbsent:
		found.state = foundEmpty
		return found
	case status/100 != 2:
		found.answer = c.judgeFailure(x.answer)
		return found
	case x.answer.Truncated || !json.Valid(x.answer.Body):
		return found
	}
	list, isComplete, ok := rows.list(x.answer.Body, &c.profile.Document)
	if !ok {
		return found
	}
	isComplete = isComplete && !strings.Contains(x.answer.Header.Get("Link"), `rel="next"`)
	ours, others, ok := rows.ours(list)
	if !ok {
		return found
	}
	return c.readOurs(intent, rows, found, ours, others, isComplete, x.answer)
}

func (c *Client) readOurs(
	intent *Intent, rows *Rows, found finding, ours []Object, others int, isComplete bool, answer *Answer,
) finding {
	switch {
	case len(ours) > 1:
		found.state = foundDuplicate
		for _, row := range ours {
			if uuid := c.profile.Document.uuid(row); uuid != "" {
				found.uuids = append(found.uuids, uuid)
			}
		}
	case len(ours) == 1:
		found = c.readRow(intent, rows, found, ours[0], answer)
		if !isComplete && found.state != foundDone {
			found.state = foundNothing
		}
	case !isComplete:
		found.state = foundNothing
	case others > 0:
		found.state = foundMismatch
	default:
		found.state = foundEmpty
	}
	return found
}

// readRow maps the one row that is ours.
func (c *Client) readRow(intent *Intent, rows *Rows, found finding, row Object, answer *Answer) finding {
	fields := c.profile.Document.readDocument(row)
	found.uuid, found.answer.word = fields.uuid, fields.status
	state, isListed := rows.Words[fields.status]
	proven := fields.proves(rows.Proof)
	switch {
	case intent.Key != "" && rows.Proof != ProofObject && c.profile.Document.namesAnotherKey(row, intent.Key):
		found.state = foundMismatch // found by its identity; only what is asked of a cancellation may name the key of something else
	case rows.Words == nil && proven, state == RowDone && proven:
		found.state = foundDone
		found.document = c.newDocument(intent, answer, fields)
		found.document.raw = json.RawMessage(row.data)
	case rows.Words == nil, !isListed:
		found.state = foundUnknownWord
	case state == RowDone:
		found.state = foundNoProof
	case state == RowPending:
		found.state = foundPending
	case state == RowFailed && fields.uuid != "":
		found.state = foundContradiction
	case state == RowFailed:
		found.state, found.mayBeOld = foundFailed, rows.FailedMayBeOld
	case state == RowProvesNothing:
		found.state = foundNoProof
	}
	return found
}

// list finds the array of rows. It is not ok when nothing has the documented shape, and not complete when a further page is named.
func (r *Rows) list(body []byte, fields *Fields) (list string, isComplete, ok bool) {
	body = bytes.Trim(body, jsonSpace)
	if bytes.HasPrefix(body, []byte("[")) {
		return string(body), true, r.takesBareList()
	}
	object, ok := ParseObject(body)
	if !ok {
		return "", false, false
	}
	for _, name := range r.Lists {
		if value := object.Get(name); name != "" && value != "" && value[0] == '[' {
			return value, !namesFurtherPage(object, value), true
		}
	}
	if r.Single && !r.hasListMember(object) && r.isRow(object, fields) {
		return "[" + object.data + "]", true, true
	}
	return "", false, false
}

func (r *Rows) takesBareList() bool {
	return slices.Contains(r.Lists, "")
}

func (r *Rows) hasListMember(object Object) bool {
	for _, name := range r.Lists {
		if name != "" && object.Has(name) {
			return true
		}
	}
	return false
}

// isRow tells a lone row from any other object, such as an error: it has one of the members that rows are known by.
func (r *Rows) isRow(object Object, fields *Fields) bool {
	for _, echo := range r.Echo {
		if object.Has(echo.Member) {
			return true
		}
	}
	return object.first(fields.ID) != "" || fields.uuid(object) != "" || object.first(fields.Status) != ""
}

// pages are the members in which APIs usually tell of paging. No provider documents it, so a list that hints at a further page is not
// believed to be complete.
func namesFurtherPage(object Object, list string) bool {
	rows := 0
	for range elements(list) {
		rows++
	}
	if hintsAtPages(object, rows) {
		return true
	}
	for _, name := range [...]string{"meta", "metadata", "pagination", "paging", "page", "links", "_links", "pageInfo", "page_info"} {
		if inner, ok := object.Object(name); ok && hintsAtPages(inner, rows) {
			return true
		}
	}
	return false
}

func hintsAtPages(object Object, rows int) bool {
	for _, name := range [...]string{
		"next", "nextPage", "next_page", "nextUrl", "next_url", "nextLink", "next_link", "nextCursor", "next_cursor",
		"nextPageToken", "next_page_token", "cursor", "hasMore", "has_more", "hasNext", "has_next", "hasNextPage", "has_next_page", "truncated",
	} {
		switch object.Get(name) {
		case "", "null", "false", `""`, "0", "{}", "[]":
		default:
			return true
		}
	}
	for _, name := range [...]string{"totalPages", "total_pages", "pages", "pageCount", "page_count", "lastPage", "last_page"} {
		if pages := object.Text(name); pages != "" && pages != "0" && pages != "1" {
			return true
		}
	}
	for _, name := range [...]string{"total", "totalCount", "total_count", "totalResults", "total_results", "totalItems", "total_items", "count"} {
		if total := object.Text(name); total != "" && secondsToDuration(digitsOnly(total)) > time.Duration(rows)*time.Second {
			return true
		}
	}
	return false
}

func digitsOnly(text string) string { return text[:countDigits(text)] }

// ours sorts the rows. It is not ok when a row is no object: such a list teaches nothing.
func (r *Rows) ours(list string) (ours []Object, others int, ok bool) {
	for value := range elements(list) {
		if value[0] != '{' {
			return nil, 0, false
		}
		row := Object{data: value}
		if r.isOurs(row) {
			row.data = strings.Clone(value) // a row must not keep the whole list in memory
			ours = append(ours, row)
		} else {
			others++
		}
	}
	return ours, others, true
}

func (r *Rows) isOurs(row Object) bool {
	for _, echo := range r.Echo {
		if echo.WhenPresent && !row.Has(echo.Member) {
			continue
		}
		text := row.Text(echo.Member)
		if text != echo.Want && !(isUUID(text) && strings.EqualFold(text, echo.Want)) {
			return false
		}
	}
	return true
}
