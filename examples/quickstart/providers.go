package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/fiscalisto"
	"github.com/unavez/unavez/providers/ipsofactura"
	"github.com/unavez/unavez/providers/payouts"
	"github.com/unavez/unavez/sandbox"
)

// api is one provider: how it is reached, how the invoices of the folder are put for it, and what goes wrong there.
type api struct {
	name     string
	provider func(baseURL string) unavez.Provider
	records  func([]invoiceFile) []record
	troubles []trouble
}

func choose(name string) ([]api, error) {
	all := apis()
	if name == "all" {
		return all, nil
	}
	for _, a := range all {
		if a.name == name {
			return []api{a}, nil
		}
	}
	return nil, fmt.Errorf("there is no provider %q: expected facty, ipsofactura, fiscalisto, payouts or all", name)
}

func apis() []api {
	return []api{
		{
			name: "facty", records: asInvoices(forFacty), troubles: factyTroubles(),
			provider: func(url string) unavez.Provider { return facty.Provider{BaseURL: url, Org: "acme", APIKey: "fk_test"} },
		},
		{
			name: "ipsofactura", records: asInvoices(forIpsofactura), troubles: ipsofacturaTroubles(),
			provider: func(url string) unavez.Provider { return ipsofactura.Provider{BaseURL: url, APIKey: "xk_test"} },
		},
		{
			name: "fiscalisto", records: asInvoices(forFiscalisto), troubles: fiscalistoTroubles(),
			provider: func(url string) unavez.Provider { return fiscalisto.Provider{BaseURL: url, APIKey: "fz_test"} },
		},
		{
			name: "payouts", records: asPayouts, troubles: payoutsTroubles(),
			provider: func(url string) unavez.Provider { return payouts.Provider{BaseURL: url, APIKey: "pk_test"} },
		},
	}
}

// The troubles that can befall every provider, each after or before the effect as its text says.

func undisturbed() trouble { return trouble{what: "nothing special", faults: scripted(sandbox.Pass())} }

func reset() trouble {
	return trouble{what: "executed, then a reset", faults: scripted(sandbox.ResetAfter())}
}

func cut() trouble {
	return trouble{what: "executed, answer cut at 40 bytes", faults: scripted(sandbox.CutBody(40))}
}

func silence() trouble {
	return trouble{what: "executed, then silence", faults: scripted(sandbox.HangAfter())}
}

func gateway() trouble {
	return trouble{what: "executed, then a gateway's 502", faults: scripted(sandbox.HTML(http.StatusBadGateway).AfterCommit())}
}

func neverRead() trouble {
	return trouble{what: "closed before it was executed", faults: scripted(sandbox.CloseBefore())}
}

func tooMany() trouble {
	return trouble{what: "429 twice, Retry-After: 1", faults: scripted(sandbox.TooMany("1"), sandbox.TooMany("1"))}
}

func threeClicks() trouble {
	return trouble{what: "three clicks while it is slow", faults: scripted(sandbox.Slow(500 * time.Millisecond)), clicks: 2}
}

func pending() trouble {
	return trouble{what: "pending for 2 s", faults: scripted(sandbox.StayPending(2 * time.Second))}
}

func pendingLong() trouble {
	return trouble{what: "pending for an hour", faults: scripted(sandbox.StayPending(time.Hour))}
}

func rejected(code string) trouble {
	return trouble{what: "rejected", faults: scripted(sandbox.Reject(code))}
}

func noBalance() trouble {
	return trouble{what: "no stamps left", faults: scripted(sandbox.Status(http.StatusPaymentRequired, ""))}
}

func scripted(faults ...sandbox.Fault) []sandbox.Fault { return faults }

func factyTroubles() []trouble {
	failsLater := trouble{what: "pending, then failed", faults: scripted(sandbox.PendingThenFail(time.Second))}
	return []trouble{
		undisturbed(), reset(), cut(), silence(), gateway(), neverRead(), tooMany(), threeClicks(), pendingLong(),
		rejected("CFDI40147"), failsLater, pending(), noBalance(),
	}
}

func ipsofacturaTroubles() []trouble {
	unsettled := trouble{what: "never settled", faults: scripted(sandbox.OutcomeUnknown())}
	return []trouble{
		undisturbed(), reset(), cut(), silence(), gateway(), neverRead(), tooMany(), threeClicks(), pendingLong(),
		rejected("CFDI40147"), noBalance(), pending(), unsettled,
	}
}

func fiscalistoTroubles() []trouble {
	return []trouble{
		reset(), silence(), threeClicks(), pendingLong(), rejected("invoice_invalid"), rejected("invoice_rejected"), noBalance(),
		undisturbed(), cut(), gateway(), neverRead(), tooMany(), pending(),
	}
}

func payoutsTroubles() []trouble {
	unknown := trouble{what: "the provider does not know", faults: scripted(sandbox.OutcomeUnknown())}
	nobody := trouble{what: "nobody can pay now", faults: scripted(sandbox.Status(http.StatusServiceUnavailable, ""))}
	return []trouble{
		undisturbed(), reset(), cut(), silence(), gateway(), neverRead(), tooMany(), threeClicks(), pending(), unknown,
		rejected("failed"), nobody,
	}
}
