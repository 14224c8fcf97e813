package sandbox

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"strings"
	"time"
)

func (i *ipsofactura) finish(w *write, o outcome, at time.Time) answer {
	if o.kind == denied {
		return i.settled(w, i.problem(o.denial))
	}
	if message := i.check(w); message != "" {
		return i.settled(w, i.invalid(message))
	}
	if w.op != OpCancel {
		i.open(w, at)
	}
	switch o.kind {
	case rejected:
		i.drop(w.doc)
		return i.settled(w, i.problem(problem{
			status: http.StatusUnprocessableEntity, code: o.code, message: "the SAT rejected the document",
		}))
	case unsettled, doomed, unknown:
		return i.unsettled(w, o, at)
	default:
		return i.settled(w, i.execute(w, at))
	}
}

// check says what is wrong with a body, if anything.
func (i *ipsofactura) check(w *write) string {
	if !w.valid {
		return "the body is not a JSON object"
	}
	bad := w.members.badText("rfc_emisor", "serie", "tipo_comprobante", "moneda",
		"forma_pago", "metodo_pago", "id", "uuid", "motivo", "xml_base64")
	if len(bad) > 0 {
		return strings.Join(bad, ", ") + ": must be a string"
	}
	if w.members.has("folio") && w.members.scalar("folio") == "" {
		return "folio: must be a string or a number"
	}
	for _, name := range []string{"conceptos", "pagos"} {
		if _, ok := w.members.list(name); !ok {
			return name + ": must be an array of objects"
		}
	}
	if w.members.has("receptor") {
		if _, ok := parseObject(w.members["receptor"]); !ok {
			return "receptor: must be an object"
		}
	}
	if w.op == OpXML || w.op == OpSealedXML {
		return badXML(w.members)
	}
	return ""
}

func badXML(members object) string {
	text, err := base64.StdEncoding.DecodeString(members.text("xml_base64"))
	if err != nil || len(text) == 0 {
		return "xml_base64: must be an XML document in base64"
	}
	return ""
}

// open registers the document before its outcome is known, so that it can be
// looked up meanwhile.
func (i *ipsofactura) open(w *write, at time.Time) {
	w.doc = &document{
		op: w.op, id: i.server.ids.next("cfdi"), account: w.account, key: w.key,
		serie: w.members.scalar("serie"), folio: w.members["folio"],
		issuer: w.members.text("rfc_emisor"), kind: i.kind(w),
	}
	if w.op == OpXML || w.op == OpSealedXML {
		readXML(w.doc, w.members.text("xml_base64"))
	}
	w.doc.enter(statusPending, at)
	i.docs = append(i.docs, w.doc)
}

// readXML takes series, folio, type and issuer from the attributes of a CFDI. A
// text that is none leaves them empty.
func readXML(doc *document, encoded string) {
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return
	}
	var cfdi struct {
		Serie string `xml:"Serie,attr"`
		Folio string `xml:"Folio,attr"`
		Type  string `xml:"TipoDeComprobante,attr"`
		From  struct {
			RFC string `xml:"Rfc,attr"`
		} `xml:"Emisor"`
	}
	if xml.Unmarshal(text, &cfdi) != nil {
		return
	}
	doc.serie, doc.issuer, doc.kind = cfdi.Serie, cfdi.From.RFC, orDefault(cfdi.Type, doc.kind)
	if folio, err := json.Marshal(cfdi.Folio); err == nil {
		doc.folio = folio
	}
}

func (i *ipsofactura) drop(doc *document) {
	for n := range i.docs {
		if i.docs[n] == doc {
			i.docs = append(i.docs[:n], i.docs[n+1:]...)
			return
		}
	}
}

// execute stamps or cancels.
func (i *ipsofactura) execute(w *write, at time.Time) answer {
	if w.op == OpCancel {
		return i.cancel(w, at)
	}
	w.doc.uuid = i.server.ids.uuid()
	w.doc.enter(statusStamped, at)
	i.enter(w, w.doc, statusStamped, at)
	row := i.row(w.doc, at)
	if w.header.Get("Idempotency-Key") != "" {
		row.IdempotencyKey = w.key
	}
	if w.op == OpPayment {
		row.Related = relatedDocuments(w.members)
	}
	return jsonAnswer(http.StatusCreated, row)
}

func (i *ipsofactura) enter(w *write, doc *document, status string, at time.Time) {
	i.server.enter(Entry{
		Provider: Ipsofactura, Account: w.account, Operation: w.op, Key: w.key,
		ID: doc.id, UUID: doc.uuid, Status: status, At: at,
	})
}

// relatedDocuments collects what the payments of a complement pay.
func relatedDocuments(members object) []object {
	related, _ := members.list("documentos_relacionados")
	payments, _ := members.list("pagos")
	for _, payment := range payments {
		paid, _ := payment.list("documentos_relacionados")
		related = append(related, paid...)
	}
	if related == nil {
		related = []object{}
	}
	return related
}

func (i *ipsofactura) cancel(w *write, at time.Time) answer {
	id, uuid := w.members.text("id"), w.members.text("uuid")
	if id == "" && uuid == "" {
		return i.invalid("id or uuid is required")
	}
	doc := find(i.docs, func(d *document) bool {
		return d.account == w.account && (id == "" || d.id == id) && (uuid == "" || strings.EqualFold(d.uuid, uuid))
	})
	switch {
	case doc == nil:
		return i.problem(notFound("document"))
	case doc.status(at) != statusStamped:
		return i.problem(problem{
			status: http.StatusConflict, code: "NOT_CANCELLABLE", message: "the document is not stamped, or cancelled",
		})
	}
	doc.enter(statusCancelled, at)
	i.enter(w, doc, statusCancelled, at)
	return jsonAnswer(http.StatusOK, i.row(doc, at))
}
