// Command mutate changes one thing at a time in the code that decides, runs the tests, and reports the changes that no test saw. From the
// directory bench:
//
//	go run ./mutate -list                             what would be changed
//	go run ./mutate -files reconcile.go,judge.go      some files only
//	go run ./mutate -sample 20                        twenty of them, picked by -seed
//
// The checkout is not touched: the compiler is given the changed file with go test -overlay.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// decisive are the files whose every comparison and every decision is changed, and the tables of rules.
func decisive() []string {
	return []string{
		"operation.go", "perform.go", "reconcile.go", "judge.go", "lookup.go", "journal.go", "failure.go", "flight.go", "rules.go", "retryafter.go",
		"providers/facty/rules.go", "providers/ipsofactura/rules.go", "providers/fiscalisto/rules.go", "providers/payouts/rules.go",
	}
}

func main() {
	survived, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if survived > 0 {
		os.Exit(1)
	}
}

func run() (survived int, err error) {
	root := flag.String("root", "..", "the module of the core")
	files := flag.String("files", strings.Join(decisive(), ","), "the files that are changed")
	packages := flag.String("packages", ". ./providers/...", "the packages whose tests are run")
	isListed := flag.Bool("list", false, "list the mutants and run nothing")
	sample := flag.Int("sample", 0, "how many mutants are run, picked at random; 0 for all")
	seed := flag.Uint64("seed", 1, "what the sample is picked by")
	arguments := flag.String("args", "", "what the tests are given, for instance -rapid.checks=20 with -packages .")
	limit := flag.Duration("timeout", 5*time.Minute, "how long the tests of one mutant may take; longer counts as seen")
	flag.Parse()
	var mutants []mutant
	for name := range strings.SplitSeq(*files, ",") {
		found, err := mutantsOf(filepath.Join(*root, name))
		if err != nil {
			return 0, err
		}
		mutants = append(mutants, found...)
	}
	if *sample > 0 && *sample < len(mutants) {
		random := rand.New(rand.NewPCG(*seed, 0)) //nolint:gosec // it must be repeatable
		random.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
		mutants = mutants[:*sample]
		slices.SortFunc(mutants, func(a, b mutant) int { return strings.Compare(a.String(), b.String()) })
	}
	if *isListed {
		for _, mutant := range mutants {
			fmt.Println(mutant)
		}
		fmt.Printf("%d mutants\n", len(mutants))
		return 0, nil
	}
	runner := runner{root: *root, packages: strings.Fields(*packages), arguments: strings.Fields(*arguments), timeout: *limit}
	return runner.all(mutants)
}
