// Command campaign plays random histories of faults, crashes and days with the SDK, and the same histories with what people use
// today. From the directory bench:
//
//	go run ./campaign -histories 100000              the SDK alone; a broken promise ends it with the smallest history that breaks it
//	go run ./campaign -seed 379 -histories 1 -trace  one history, line by line
//	go run ./campaign -compare 5000 -write ../docs/guarantees.md    the table of all clients, into the document
//
// Virtual time needs a *testing.T, so the command runs as a test binary does: package testing keeps testing.Main for that.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
)

func main() {
	var c config
	flags := flag.NewFlagSet("campaign", flag.ExitOnError)
	flags.Uint64Var(&c.histories, "histories", 0, "how many histories the SDK plays")
	flags.Uint64Var(&c.compare, "compare", 0, "how many histories each client of the table plays")
	flags.Uint64Var(&c.seed, "seed", 1, "the seed of the first history; the others follow")
	flags.BoolVar(&c.isTraced, "trace", false, "print every history; with -compare, those in which the SDK was not told the whole truth")
	flags.BoolVar(&c.goesOn, "go-on", false, "go on after a broken promise, and print one history per promise")
	flags.StringVar(&c.document, "write", "", "the document whose table is replaced; without it the table is printed")
	flags.IntVar(&c.workers, "workers", runtime.GOMAXPROCS(0), "how many histories are played at a time")
	_ = flags.Parse(os.Args[1:]) // it exits by itself
	if c.histories == 0 && c.compare == 0 {
		c.histories, c.compare = 100_000, 5_000
	}
	os.Args = []string{os.Args[0], fmt.Sprintf("-test.parallel=%d", c.workers)}
	testing.Main(matchAll, []testing.InternalTest{{Name: "campaign", F: c.run}}, nil, nil)
}

func matchAll(_, _ string) (bool, error) { return true, nil }
