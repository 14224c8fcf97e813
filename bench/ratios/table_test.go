package main

import (
	"strings"
	"testing"
)

const sample = `goos: linux
goarch: amd64
cpu: Some CPU
BenchmarkPost/memory/net-http-2   	 100	 1000 ns/op	 400 B/op	 40 allocs/op
BenchmarkPost/memory/net-http-2   	 100	 3000 ns/op	 400 B/op	 40 allocs/op
BenchmarkPost/memory/unavez-2     	 100	 4000 ns/op	 500 B/op	 49 allocs/op
BenchmarkPair/memory/net-http-2   	 100	 2000 ns/op	 1.000 x-bare
BenchmarkPair/memory/unavez-2     	 100	 5000 ns/op	 1.900 x-bare
BenchmarkPair/memory/unavez-2     	 100	 5000 ns/op	 2.100 x-bare
BenchmarkCreateAtOnce/memory/goroutines=8-2   	 100	 70 ns/op	 5 B/op	 1 allocs/op
BenchmarkMemory-2	 1000000	 9000 ns/op	 12345 heap-B
PASS
`

func TestTheTableHasMediansAndRatiosOverBare(t *testing.T) {
	t.Parallel()
	table := tableOf(parse(sample), firstLines(sample))
	for _, line := range []string{
		"Medians; linux, amd64, Some CPU.",
		"| net-http | 2000 | ± 50 % | 1.00 ± 0 % | 400 | +0 | 40 | +0 |",
		"| unavez | 4000 | ± 0 % | 2.00 ± 5 % | 500 | +100 | 49 | +9 |",
		"| CreateAtOnce/memory/goroutines=8 | 70 | ± 0 % | 5 | 1 |  |",
		"| Memory | 9000 | ± 0 % |  |  | 12345 heap-B |",
	} {
		if !strings.Contains(table, line+"\n") {
			t.Errorf("no line %q in\n%s", line, table)
		}
	}
}
