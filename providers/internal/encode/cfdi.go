package encode

import "github.com/unavez/unavez"

// WallClock is how a CFDI writes a moment: to the second, without a zone.
const WallClock = "2006-01-02T15:04:05"

// Pesos is the currency of a document that names none.
const Pesos = "MXN"

// RequireRate asks for the pesos per unit where SAT does: for every currency but the peso and XXX, which stands for none.
func (c *Check) RequireRate(currency string, rate unavez.Decimal, member string) {
	isForeign := currency != "" && currency != Pesos && currency != "XXX"
	c.Refuse("ExchangeRate", isForeign && rate == "" && !c.Has(member), "is empty, and Currency is not MXN")
}

// Related checks what a document says of earlier ones.
func (c *Check) Related(related []unavez.Relation) {
	for i := range related {
		row := c.Row("Related", i)
		row.Require("Type", related[i].Type != "")
		row.Require("UUIDs", len(related[i].UUIDs) > 0)
	}
}

// Global checks the period of a global invoice.
func (c *Check) Global(global *unavez.GlobalInfo) {
	if global == nil {
		return
	}
	c.Refuse("Global.Periodicity", global.Periodicity == "", "is empty")
	c.Refuse("Global.Months", global.Months == "", "is empty")
	c.Refuse("Global.Year", global.Year == 0, "is empty")
}

// PaidDocument checks what every provider needs of one paid invoice: the number of the payment and the three balances.
func (r Row) PaidDocument(document *unavez.PaidDocument) {
	r.Refuse("Installment", document.Installment < 1, "is less than 1")
	r.Require("PreviousBalance", document.PreviousBalance != "")
	r.Require("Paid", document.Paid != "")
	r.Require("RemainingBalance", document.RemainingBalance != "")
}

// CheckMotive holds an encoded cancellation against SAT's catalogue: there are four motives, and a replacing document goes
// with 01 and with no other. The arguments are the provider's names of the two members.
func CheckMotive(body []byte, motiveMember, substituteMember string) error {
	object, _ := unavez.ParseObject(body)
	hasSubstitute := object.Text(substituteMember) != ""
	switch object.Text(motiveMember) {
	case "":
		return unavez.Unsupported("Motive", "is empty, and Extra has no "+motiveMember)
	case "01":
		if !hasSubstitute {
			return unavez.Unsupported("SubstituteUUID", "is empty, expected the document that replaces this one, as Motive is 01")
		}
	case "02", "03", "04":
		if hasSubstitute {
			return unavez.Unsupported("SubstituteUUID", "is set, and goes with Motive 01 only")
		}
	default:
		return unavez.Unsupported("Motive", "is none of SAT's codes 01 to 04")
	}
	return nil
}
