package clients_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/unavez/unavez/bench/clients"
	"github.com/unavez/unavez/internal/campaign"
	"github.com/unavez/unavez/sandbox"
)

// play plays one history of one record, which is asked for once.
func play(t *testing.T, client clients.Named, provider string, kind campaign.Kind, faults ...sandbox.Fault) campaign.Tally {
	t.Helper()
	history := campaign.History{
		IsDurable:  true,
		Operations: []campaign.Operation{{Account: campaign.Account{Provider: provider}, Kind: kind}},
		Processes:  []campaign.Process{{}},
		Writes:     make([][]campaign.Fault, 1), Lookups: make([][]campaign.Fault, 1),
		Steps: []campaign.Step{{Kind: campaign.StepPerform, Clicks: 1}},
	}
	for _, fault := range faults {
		history.Writes[0] = append(history.Writes[0], campaign.Fault{Fault: fault})
	}
	var report campaign.Report
	var err error
	synctest.Test(t, func(*testing.T) { report, err = campaign.Play(history, campaign.Mode{IsPlain: true}, client.New) })
	if err != nil {
		t.Fatal(err)
	}
	return report.Tally
}

func forEvery(t *testing.T, check func(t *testing.T, client clients.Named, provider string, kind campaign.Kind)) {
	t.Helper()
	all := clients.All()
	for _, row := range []struct {
		provider string
		kind     campaign.Kind
		clients  []clients.Named
	}{
		{campaign.Facty, campaign.Invoice, append(all, clients.Named{Name: "the pseudocode of Facty's page", New: clients.NewFactyPage})},
		{campaign.Facty, campaign.Registration, all},
		{campaign.Ipsofactura, campaign.Payment, all},
		{campaign.Fiscalisto, campaign.Invoice, append(all, clients.Named{Name: "the loop of Fiscalisto's page", New: clients.NewFiscalistoLoop})},
		{campaign.Payouts, campaign.Payout, all},
	} {
		for _, client := range row.clients {
			t.Run(row.provider+"/"+string(row.kind)+"/"+client.Name, func(t *testing.T) {
				t.Parallel()
				check(t, client, row.provider, row.kind)
			})
		}
	}
}

func TestEveryClientDoesItOnceWhereNothingGoesWrong(t *testing.T) {
	t.Parallel()
	forEvery(t, func(t *testing.T, client clients.Named, provider string, kind campaign.Kind) {
		t.Helper()
		tally := play(t, client, provider, kind)
		if tally.Done != 1 || tally.Double != 0 || tally.Wrong != 0 || tally.Requests != 1 {
			t.Errorf("done %d, twice %d, wrong %d, %d requests", tally.Done, tally.Double, tally.Wrong, tally.Requests)
		}
	})
}

func TestEveryClientComesThroughAnAnswerThatWasLostBeforeTheCommit(t *testing.T) {
	t.Parallel()
	forEvery(t, func(t *testing.T, client clients.Named, provider string, kind campaign.Kind) {
		t.Helper()
		tally := play(t, client, provider, kind, sandbox.CloseBefore())
		if tally.Double != 0 || tally.Wrong != 0 || tally.Done+tally.Review != 1 {
			t.Errorf("done %d, with a person %d, twice %d, wrong %d", tally.Done, tally.Review, tally.Double, tally.Wrong)
		}
	})
}

func TestFreshKeyPerCallStampsAgainAfterTheTriesAreUsedUp(t *testing.T) {
	t.Parallel()
	lost := sandbox.CloseAfter()
	tally := play(t, clients.Named{New: clients.NewBare}, campaign.Fiscalisto, campaign.Invoice, lost, lost, lost, lost, lost)
	if tally.Double != 1 {
		t.Errorf("twice %d, expected 1: the second call has another key", tally.Double)
	}
}

func TestDerivedKeyStampsOnceInTheSameHistory(t *testing.T) {
	t.Parallel()
	lost := sandbox.CloseAfter()
	tally := play(t, clients.Named{New: clients.NewRetryable}, campaign.Fiscalisto, campaign.Invoice, lost, lost, lost, lost, lost)
	if tally.Double != 0 || tally.Done != 1 || tally.DeniedWithout != 1 {
		t.Errorf("twice %d, done %d, told an error %d", tally.Double, tally.Done, tally.DeniedWithout)
	}
}

func TestClientsTakeTheTimeThatTheirDocumentationSays(t *testing.T) {
	t.Parallel()
	lost := sandbox.CloseBefore()
	for _, row := range []struct {
		client   clients.Named
		requests int
		least    time.Duration
		most     time.Duration
	}{
		{clients.Named{Name: "bare", New: clients.NewBare}, 5, 15 * time.Second, 16 * time.Second},
		{clients.Named{Name: "retryablehttp", New: clients.NewRetryable}, 5, 15 * time.Second, 16 * time.Second},
		{clients.Named{Name: "stripe-go", New: clients.NewStripe}, 3, time.Second, 2 * time.Second},
	} {
		t.Run(row.client.Name, func(t *testing.T) {
			t.Parallel()
			faults := make([]sandbox.Fault, row.requests)
			for i := range faults {
				faults[i] = lost
			}
			tally := play(t, row.client, campaign.Ipsofactura, campaign.Invoice, faults...)
			if took := tally.Percentile(50); tally.Requests != row.requests+1 || took < row.least || took > row.most {
				t.Errorf("%d requests, final after %s", tally.Requests, took)
			}
		})
	}
}
