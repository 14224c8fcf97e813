package sandbox

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"time"
	"unicode/utf8"
)

// check finds what is wrong with a body, in the order in which it is read. It
// leaves no row behind, so the key stays free.
func (f *facty) check(w *write) (problem, bool) {
	if !w.valid {
		return problem{status: http.StatusBadRequest, code: "INVALID_JSON", message: "the body is not a JSON object"}, true
	}
	faults := map[string]string{}
	switch w.op {
	case OpCancel:
		checkCancel(w.members, faults)
	case OpInvoice:
		checkFactyKey(w.members, faults)
		checkInvoice(w.members, faults)
	case OpPayment:
		checkFactyKey(w.members, faults)
		checkPayment(w.members, faults)
	default:
		checkFactyKey(w.members, faults) // the rest of the body is not documented
	}
	if len(faults) == 0 {
		return problem{}, false
	}
	return problem{
		status: http.StatusUnprocessableEntity, code: "VALIDATION_ERROR",
		message: "the data is not valid", fields: faults,
	}, true
}

func checkFactyKey(members object, faults map[string]string) {
	n := utf8.RuneCountInString(members.text("idempotencyKey"))
	if n < 8 || n > 128 {
		faults["idempotencyKey"] = "must be a string of 8 to 128 characters"
	}
}

func checkInvoice(members object, faults map[string]string) {
	if kind := members.text("type"); kind != "ingreso" && kind != "egreso" {
		faults["type"] = "must be ingreso or egreso"
	}
	texts := []string{"clientId", "usoCfdi", "formaPago", "metodoPago", "serie", "exportacion", "moneda"}
	note(faults, "", members.badText(texts...), "must be a string")
	note(faults, "", members.badNumbers("tipoCambio"), "must be a number")
	items, ok := members.list("items")
	if !ok {
		faults["items"] = "must be an array of objects"
	}
	for i, item := range items {
		path := fmt.Sprintf("items.%d.", i)
		texts := item.badText("productId", "claveProdServ", "claveUnidad", "description", "objetoImp")
		note(faults, path, texts, "must be a string")
		numbers := item.badNumbers("quantity", "unitPrice", "iva", "descuento", "ieps", "retIsr", "retIva")
		note(faults, path, numbers, "must be a number")
	}
}

func checkPayment(members object, faults map[string]string) {
	note(faults, "", members.badText("accountId", "fechaPago", "formaPago", "numOperacion", "moneda"), "must be a string")
	note(faults, "", members.badNumbers("monto", "tipoCambio"), "must be a number")
	if date := members.text("fechaPago"); date != "" {
		if _, err := time.Parse(zoneless, date); err != nil {
			faults["fechaPago"] = "must be a date and time without zone"
		}
	}
	documents, ok := members.list("documents")
	if !ok {
		faults["documents"] = "must be an array of objects"
	}
	for i, document := range documents {
		path := fmt.Sprintf("documents.%d.", i)
		note(faults, path, document.badText("invoiceId"), "must be a string")
		numbers := document.badNumbers(
			"numParcialidad", "importeSaldoAnterior", "importePagado", "importeSaldoInsoluto")
		note(faults, path, numbers, "must be a number")
	}
}

// checkCancel checks the motive: 01 names the document that takes its place, the
// others must not.
func checkCancel(members object, faults map[string]string) {
	substitute := members.text("folioSustitucion")
	switch members.text("motivo") {
	case "01":
		if substitute == "" {
			faults["folioSustitucion"] = "required for motive 01"
		}
	case "02", "03", "04":
		if substitute != "" {
			faults["folioSustitucion"] = "only for motive 01"
		}
	default:
		faults["motivo"] = "must be 01, 02, 03 or 04"
	}
}

func note(faults map[string]string, path string, names []string, message string) {
	for _, name := range names {
		faults[path+name] = message
	}
}

// refuseStamp refuses to stamp a payment that does not exist, or is stamped.
func (f *facty) refuseStamp(w *write, at time.Time) (problem, bool) {
	if w.op != OpPaymentStamp {
		return problem{}, false
	}
	payment := f.payments[w.target]
	switch {
	case payment == nil || payment.account != w.account:
		return notFound("payment"), true
	case payment.status(at) != statusRegistered || f.stamping(w, at):
		return problem{status: http.StatusConflict, code: "CONFLICT", message: "the payment is not open for stamping"}, true
	}
	return problem{}, false
}

// stamping reports whether a payment is being stamped under another key.
func (f *facty) stamping(w *write, at time.Time) bool {
	other := find(f.docs, func(d *document) bool {
		return d.op == OpPaymentStamp && d.account == w.account &&
			d.payment == w.target && d.status(at) == statusPending
	})
	return other != nil
}

func notFound(what string) problem {
	return problem{status: http.StatusNotFound, code: "NOT_FOUND", message: what + " not found"}
}

// factyTotal computes a total exactly. The price of a product that is only named
// is not known here and counts as nothing.
func factyTotal(w *write) json.Number {
	if w.op == OpPayment {
		return money(w.members.number("monto"))
	}
	total := new(big.Rat)
	items, _ := w.members.list("items")
	for _, item := range items {
		total.Add(total, factyLine(item))
	}
	return money(total)
}

// factyLine is quantity × price × (1 − discount) × (1 + taxes − retentions). The
// discount is read as a fraction of the price, as Facty's own client sends it.
func factyLine(item object) *big.Rat {
	base := new(big.Rat).Mul(item.number("quantity"), item.number("unitPrice"))
	base.Mul(base, new(big.Rat).Sub(big.NewRat(1, 1), item.number("descuento")))
	rate := big.NewRat(1, 1)
	for _, tax := range []string{"iva", "ieps"} {
		rate.Add(rate, item.number(tax))
	}
	for _, retention := range []string{"retIsr", "retIva"} {
		rate.Sub(rate, item.number(retention))
	}
	return base.Mul(base, rate)
}
