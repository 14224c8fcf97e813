// Command ratios runs the benchmarks and prints what each client costs beside bare net/http, as a table. From the directory bench:
//
//	go run ./ratios -count 6 -write ../docs/performance.md
//
// The raw output goes to -raw, for benchstat. With -from the table is made of such a file, and nothing is run.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

const (
	beginMark = "<!-- ratio table: begin, written by bench/ratios -->"
	endMark   = "<!-- ratio table: end -->"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	count := flag.Int("count", 6, "how often each benchmark is run; the table has the medians")
	benchtime := flag.String("benchtime", "1s", "how long each run is, as for go test")
	raw := flag.String("raw", "bench.out", "where the raw output goes")
	from := flag.String("from", "", "a raw output: nothing is run")
	document := flag.String("write", "", "the document whose table is replaced; without it the table is printed")
	flag.Parse()
	path := *from
	if path == "" {
		path = *raw
		if err := measure(path, *count, *benchtime); err != nil {
			return err
		}
	}
	output, err := os.ReadFile(path) //nolint:gosec // a file that the caller names
	if err != nil {
		return err
	}
	table := tableOf(parse(string(output)), firstLines(string(output)))
	if *document == "" {
		_, err := fmt.Print(table)
		return err
	}
	return replace(*document, table)
}

// measure runs every benchmark. The million calls are counted and not timed, so they run once.
func measure(path string, count int, benchtime string) error {
	var lines bytes.Buffer
	for _, args := range [][]string{
		{"-bench", "Post|Pair|CreateAtOnce|DoubleClick|DeriveKey|Encode|Classify|ParseObject", "-benchtime", benchtime, "-count", strconv.Itoa(count)},
		{"-bench", "^BenchmarkMemory$", "-benchtime", "1000000x", "-count", "1"},
	} {
		args = append([]string{"test", "-tags", "openai", "-run", "^$", "-benchmem", "-timeout", "0"}, append(args, ".")...)
		command := exec.CommandContext(context.Background(), "go", args...) //nolint:gosec // the caller's own arguments
		command.Stdout, command.Stderr = io.MultiWriter(&lines, os.Stderr), os.Stderr
		if err := command.Run(); err != nil {
			return fmt.Errorf("go test: %w", err)
		}
	}
	return os.WriteFile(path, lines.Bytes(), 0o644) //nolint:gosec // a file that the caller names
}

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
	return os.WriteFile(document, []byte(before+beginMark+"\n\n"+table+"\n"+endMark+after), 0o644) //nolint:gosec // a file that the caller names
}
