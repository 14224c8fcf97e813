// Command mutate changes one thing at a time in the code that decides, runs the tests, and reports the changes that no test saw. From the
// directory bench:
//
//	go run ./mutate -list                             what would be changed
//	go run ./mutate -files reconcile.go,judge.go      some files only
//	go run ./mutate -sample 20                        twenty of them, picked by -seed
//	go run ./mutate -only judge.go:165:57             one of them
//
// The checkout is not touched: the compiler is given the changed files as an overlay, with every mutant in them and a switch for each.
package main

import (
	"cmp"
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
		"attempt.go", "document.go", "key.go", "memory.go",
		"providers/facty/rules.go", "providers/facty/lookup.go", "providers/ipsofactura/rules.go", "providers/ipsofactura/lookup.go",
		"providers/fiscalisto/rules.go", "providers/payouts/rules.go",
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
	names := flag.String("files", strings.Join(decisive(), ","), "the files that are changed")
	only := flag.String("only", "", "a part of a mutant as it is listed; only those that have it are run")
	isListed := flag.Bool("list", false, "list the mutants and run nothing")
	sample := flag.Int("sample", 0, "how many mutants are run, picked at random; 0 for all")
	seed := flag.Uint64("seed", 1, "what the sample is picked by")
	workers := flag.Int("workers", 2, "how many mutants are run at the same time")
	limit := flag.Duration("timeout", 2*time.Minute, "how long one round of tests may take; longer counts as seen")
	flag.Parse()
	var files []*finder
	var mutants []numbered
	for name := range strings.SplitSeq(*names, ",") {
		file, err := readMutants(filepath.Join(*root, name))
		if err != nil {
			return 0, err
		}
		files = append(files, file)
		for _, mutant := range file.found {
			mutants = append(mutants, numbered{mutant: mutant, number: len(mutants) + 1})
		}
	}
	mutants = pick(mutants, *only, *sample, *seed)
	if *isListed {
		for _, mutant := range mutants {
			fmt.Println(mutant)
		}
		fmt.Printf("%d mutants\n", len(mutants))
		return 0, nil
	}
	folder, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // temporary
	runner := runner{root: *root, rounds: rounds(), workers: *workers, timeout: *limit}
	if err := runner.prepare(folder, files); err != nil {
		return 0, err
	}
	return runner.all(mutants), nil
}

// pick leaves those that were asked for.
func pick(mutants []numbered, only string, sample int, seed uint64) []numbered {
	mutants = slices.DeleteFunc(mutants, func(m numbered) bool { return !strings.Contains(m.String(), only) })
	if sample <= 0 || sample >= len(mutants) {
		return mutants
	}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it must be repeatable
	random.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	mutants = mutants[:sample]
	slices.SortFunc(mutants, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	return mutants
}
