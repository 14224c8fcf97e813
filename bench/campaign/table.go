package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/unavez/unavez/bench/clients"
	"github.com/unavez/unavez/internal/campaign"
)

// contest is one part of the table: clients that play the same histories.
type contest struct {
	title     string
	providers []string
	only      campaign.Kind
	clients   []clients.Named
}

const sdkName = "unavez, memory or shared journal"

func contests() []contest {
	sdk := clients.Named{Name: sdkName, New: campaign.NewSDK}
	return []contest{
		{"All four providers", campaign.Providers(), "", append(clients.All(), sdk)},
		{
			"Fiscalisto only",
			[]string{campaign.Fiscalisto},
			"",
			[]clients.Named{{Name: "the loop of Fiscalisto's page", New: clients.NewFiscalistoLoop}, sdk},
		},
		{
			"Facty's invoices only",
			[]string{campaign.Facty},
			campaign.Invoice,
			[]clients.Named{{Name: "the pseudocode of Facty's page", New: clients.NewFactyPage}, sdk},
		},
	}
}

// tabulate plays every contest and prints the table, or puts it into the document.
func (c *config) tabulate(t *testing.T) error {
	t.Helper()
	var table bytes.Buffer
	fmt.Fprintf(&table, "\n`go run ./campaign -compare %d -seed %d`, in the directory `bench`:\n", c.compare, c.seed)
	for _, contest := range contests() {
		fmt.Fprintf(&table, "\n**%s**\n\n%s", contest.title, heading)
		for _, client := range contest.clients {
			player := player{
				mode: campaign.Mode{IsPlain: true, Only: contest.only}, maker: client.New,
				shape: campaign.Shape{Providers: contest.providers, IsHonest: true},
			}
			began := time.Now()
			var total campaign.Tally
			isSDK := client.Name == sdkName
			player.all(t, c.workers, c.seed, c.compare, func(t *testing.T, history campaign.History, report campaign.Report) {
				t.Helper()
				total.Add(report.Tally)
				if isSDK && len(report.Broken) > 0 {
					t.Errorf("seed %d: %s", history.Seed, report.Broken[0])
				}
				if isSDK && c.isTraced && report.Tally.DeniedByAnswer+report.Tally.DeniedWithout+report.Tally.Forgotten+report.Tally.Wrong > 0 {
					fmt.Fprintf(os.Stdout, "%s\n%s\n", history, report.Trace())
				}
			})
			table.WriteString(line(client.Name, &total))
			fmt.Fprintf(os.Stderr, "%s: %s in %s\n", contest.title, client.Name, time.Since(began).Round(time.Second))
		}
	}
	if c.document == "" {
		_, err := os.Stdout.Write(table.Bytes())
		return err
	}
	return replace(c.document, table.String())
}

const heading = "| client | histories | operations | done twice | told an error after it was done: by an answer | … by a timeout or a 5xx " +
	"| held for failed in the end | wrong documents | with a person | open in the end | median | p99 | requests per operation |\n" +
	"| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n"

func line(name string, t *campaign.Tally) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %s | %s | %.2f |\n", name, t.Histories, t.Operations, t.Double,
		t.DeniedByAnswer, t.DeniedWithout, t.Forgotten, t.Wrong, t.Review, t.Open, short(t.Percentile(50)), short(t.Percentile(99)),
		float64(t.Requests)/float64(max(t.Operations, 1)))
}

// short prints a time as a reader wants it.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Hour:
		return d.Round(100 * time.Millisecond).String()
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

const (
	beginMark = "<!-- campaign table: begin, written by bench/campaign -->"
	endMark   = "<!-- campaign table: end -->"
)

// replace puts the table between the marks of the document.
func replace(document, table string) error {
	text, err := os.ReadFile(document) //nolint:gosec // a file that the caller names
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), beginMark)
	_, after, closed := strings.Cut(rest, endMark)
	if !found || !closed {
		return fmt.Errorf("%s has no marks for the table", document)
	}
	return os.WriteFile(document, []byte(before+beginMark+"\n"+table+"\n"+endMark+after), 0o644) //nolint:gosec // a file that the caller names
}
