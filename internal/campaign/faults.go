package campaign

import (
	"net/http"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// faults draws what goes wrong with the requests of one operation.
func (d draw) faults(provider string, mayLie bool) (writes, lookups []Fault) {
	// A request that waits in a queue in front of the provider and a verdict on another one of the same operation do not go together: the
	// queued one could still be executed after the verdict, and no page says anything about that.
	queues := d.chance(3)
	for range pick(d, 0, 0, 1, 1, 1, 2, 3, 4, 6) {
		writes = append(writes, d.write(provider, queues, mayLie))
	}
	if queues && provider == Facty && d.chance(3) { // what a person tries again after this may wait in a queue, but not what came before it
		writes = append([]Fault{{Fault: sandbox.PendingThenFail(d.work()), Settles: unavez.Forever, IsVerdict: true, Is: isOpen}}, writes...)
	}
	for range pick(d, 0, 0, 1, 2, 4) {
		lookups = append(lookups, d.lookup())
	}
	return writes, lookups
}

func plain(f sandbox.Fault) Fault { return Fault{Fault: f} }

func (d draw) write(provider string, queues, mayLie bool) Fault {
	if mayLie && d.chance(3) {
		return d.lie(provider)
	}
	switch d.IntN(12) {
	case 0, 1, 2:
		return d.cut()
	case 3, 4:
		return d.slow(queues)
	case 5, 6:
		return d.pending(queues)
	case 7:
		return d.refusal(provider, queues)
	case 8:
		return d.turnedAway()
	case 9:
		return d.serverError(provider)
	case 10:
		return d.garbled()
	}
	return d.combined(queues)
}

// cut is an answer that never comes, before or after the commit.
func (d draw) cut() Fault {
	return plain(pick(d,
		sandbox.Pass(), sandbox.CloseAfter(), sandbox.CloseBefore(), sandbox.ResetAfter(), sandbox.ResetBefore(), sandbox.HangAfter(),
		sandbox.HangBefore(), sandbox.Refuse(), sandbox.Interrupt()))
}

func (d draw) work() time.Duration {
	return pick(d, 200*time.Millisecond, time.Second, 3*time.Second, 29*time.Second, 31*time.Second, 45*time.Second, 2*time.Minute,
		20*time.Minute, 3*time.Hour)
}

func (d draw) slow(queues bool) Fault {
	work := d.work()
	kinds := []sandbox.Fault{sandbox.Late(work), sandbox.Slow(work)}
	if queues {
		kinds = append(kinds, sandbox.Queue(work), sandbox.Queue(work))
	}
	return Fault{Fault: pick(d, kinds...), Settles: work}
}

func (d draw) pending(queues bool) Fault {
	work := d.work()
	switch d.IntN(5) {
	case 0:
		return Fault{Fault: sandbox.OutcomeUnknown(), Settles: unavez.Forever, Is: isOpen}
	case 1:
		return Fault{Fault: sandbox.StayPending(80 * time.Hour), Settles: 80 * time.Hour, Is: isOpen}
	case 2:
		if !queues {
			return Fault{Fault: sandbox.PendingThenFail(work), Settles: unavez.Forever, IsVerdict: true, Is: isOpen}
		}
	}
	return Fault{Fault: sandbox.StayPending(work), Settles: work, Is: isOpen}
}

// garbled is an answer that cannot be read to its end.
func (d draw) garbled() Fault {
	if d.chance(300) { // it costs more than a hundred other faults
		return plain(sandbox.GzipBomb(9))
	}
	n := pick(d, 0, 1, 17, 60, 500)
	return plain(pick(d, sandbox.CutBody(n), sandbox.CutChunked(n), sandbox.StallBody(n), sandbox.GzipCut(), sandbox.GzipPlain()))
}

func (d draw) combined(queues bool) Fault {
	deed := d.slow(queues)
	switch {
	case d.chance(2):
		deed = d.pending(queues)
	case !queues && d.chance(2):
		deed = Fault{Fault: sandbox.Reject("CFDI40147"), IsVerdict: true}
	}
	way := d.garbled()
	if d.chance(2) {
		way = d.cut()
	}
	deed.Fault = deed.With(way.Fault)
	return deed
}

func (d draw) retryAfter() string {
	return pick(d, "", "1", "3", "0", "-1", "30", "31", "3600", "9223372036854775807", "99999999999999999999", "soon", "1.5",
		"Sat, 01 Jan 2000 00:00:20 GMT", "Saturday, 01-Jan-00 00:10:00 GMT", "Sat Jan  1 00:00:40 2000", "Sat, 01 Jan 2000 06:00:00 CST")
}

// serverError leaves open whether anything was done, so it may come after the commit as well.
func (d draw) serverError(provider string) Fault {
	status := pick(d, 500, 502, 503, 504, 408, 409, 501, 599)
	wait := d.retryAfter()
	var fault Fault
	switch d.IntN(7) {
	case 0, 1:
		code := "" // the provider's own
		if provider == Payouts && status == http.StatusServiceUnavailable {
			code = "maintenance" // its own says that nothing was done
		}
		fault = plain(sandbox.Status(status, code, "Retry-After: "+wait))
	case 2:
		fault = plain(sandbox.Status(status, "busy"))
	case 3:
		fault = plain(sandbox.HTML(status, "Retry-After: "+wait))
	case 4:
		fault = plain(sandbox.Raw(status, nil, `{"error":["a"]}`))
	case 5:
		status = 0
		fault = plain(pick(d, sandbox.Raw(200, nil, `{}`), sandbox.Raw(200, nil, ""), sandbox.HTML(200), sandbox.Raw(201, nil, `{"id":"x_1","uuid":null}`)))
	case 6:
		status = 0
		fault = Fault{Fault: sandbox.Raw(200, nil, `{"id":"x_1","status":"somehow"}`), Is: isOddWord}
		if provider == Payouts { // there any word but two is a payout
			fault = plain(sandbox.Raw(200, nil, `{"status":"somehow"}`))
			fault.Is = isOddWord
		}
	}
	if status == http.StatusConflict {
		fault.Is = isConflict
	}
	if d.chance(2) {
		fault.Fault = fault.AfterCommit()
	}
	return fault
}

// turnedAway is an answer about the caller, or of a gateway: the provider has not looked at the payload.
func (d draw) turnedAway() Fault {
	wait := d.retryAfter()
	return plain(pick(d,
		sandbox.TooMany(wait), sandbox.TooMany(wait), sandbox.TooMany(wait), sandbox.Status(401, ""), sandbox.Status(403, ""),
		sandbox.Status(402, ""), sandbox.Status(425, "", "Retry-After: "+wait), sandbox.HTML(404), sandbox.HTML(403),
		sandbox.HTML(429, "Retry-After: "+wait), sandbox.Redirect(302, "http://elsewhere.example/"), sandbox.Redirect(301, "?moved=1"),
		sandbox.Redirect(307, "/"), sandbox.Redirect(308, "?moved=1")))
}

// refusal is a verdict of the provider on the payload, by the codes of its page.
func (d draw) refusal(provider string, queues bool) Fault {
	if queues {
		return d.turnedAway()
	}
	var faults []sandbox.Fault
	switch provider {
	case Facty:
		faults = []sandbox.Fault{sandbox.Reject("CFDI40147"), sandbox.Reject("CFDI40103"), sandbox.Status(422, ""), sandbox.Status(400, "")}
	case Ipsofactura:
		faults = []sandbox.Fault{
			sandbox.Status(400, "VALIDATION_ERROR"), sandbox.Status(422, "VALIDATION_ERROR"), sandbox.Status(404, "NOT_FOUND"), sandbox.Reject("CFDI40147"),
		}
	case Fiscalisto:
		faults = []sandbox.Fault{
			sandbox.Reject("invoice_rejected"), sandbox.Reject("invoice_invalid"),
			sandbox.Status(422, "invoice_rejected"), sandbox.Status(422, "invoice_invalid"),
		}
	default:
		faults = []sandbox.Fault{
			sandbox.Status(503, "no_provider_available"), sandbox.Status(502, "provider_error"), sandbox.Status(400, "validation_error"),
			sandbox.Reject("failed"),
		}
	}
	return Fault{Fault: pick(d, faults...), IsVerdict: true}
}

// lie is an answer against the provider's own page: it denies what was done, or tells of what was not.
func (d draw) lie(provider string) Fault {
	if d.chance(3) {
		return plain(pick(d,
			sandbox.Raw(201, nil, `{"id":"x_1","uuid":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55","folio_fiscal":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55"}`),
			sandbox.Raw(200, nil, `{"id":"po_77","paymentId":"pay_77","status":"processing"}`),
			sandbox.Status(422, "CFDI307"), sandbox.Status(409, "idempotency_key_reused"), sandbox.Status(422, "IDEMPOTENCY_KEY_REUSED"),
			sandbox.Status(409, "quote_already_consumed"), sandbox.Status(409, "DUPLICATE_IN_PROGRESS")))
	}
	fault := d.turnedAway()
	if d.chance(2) {
		fault = d.refusal(provider, false)
	}
	fault.Fault, fault.IsVerdict = fault.AfterCommit(), false
	return fault
}

func (d draw) lookup() Fault {
	work := d.work()
	switch d.IntN(8) {
	case 0, 1:
		return Fault{Fault: sandbox.LagLookup(work), Is: isLag}
	case 2:
		return Fault{Fault: sandbox.IgnoreFilter(), Is: isForeignRow}
	case 3:
		return d.shape()
	}
	return plain(pick(d,
		sandbox.Pass(), sandbox.Pass(), sandbox.Late(work), sandbox.CloseAfter(), sandbox.HangAfter(), sandbox.Refuse(), sandbox.CutBody(17),
		sandbox.GzipCut(), sandbox.HTML(502), sandbox.HTML(404), sandbox.Status(503, "busy", "Retry-After: "+d.retryAfter()),
		sandbox.Status(429, "", "Retry-After: "+d.retryAfter()), sandbox.Status(401, ""), sandbox.Redirect(302, "http://elsewhere.example/")))
}

// shape is a list that teaches nothing, or the wrong thing.
func (d draw) shape() Fault {
	const foreign = `{"invoices":[{"idempotencyKey":"other-key","status":"stamped","uuid":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55"}]}`
	if d.chance(4) {
		return Fault{Fault: sandbox.Shape(foreign), Is: isForeignRow}
	}
	if d.chance(4) { // at one provider or another these are lists, and empty
		return Fault{Fault: sandbox.Shape(pick(d, `[]`, `{"data":[]}`)), Is: isLag}
	}
	return plain(sandbox.Shape(pick(d, `{}`, `{"invoices":null}`, `{"invoices":[],"next":"p2"}`, `{"invoices":{}}`, `{"invoices":[null]}`, `"x"`)))
}
