package bench_test

import (
	"context"
	"slices"
	"testing"
	"time"
)

// BenchmarkPair times each client beside bare net/http in one loop, one write of each in turn, so that what else the machine does
// meets both. x-bare is the ratio of the medians, and what the published ratios are made of: two benchmarks of the same client that run one
// after the other differ by more than the clients do.
func BenchmarkPair(b *testing.B) {
	for _, at := range places(b) {
		for _, client := range append(peers(), openAI()...) {
			b.Run(at.name+"/"+client.name, func(b *testing.B) {
				pair := [2]post{bare(b, at), client.post(b, at)}
				var took [2][]time.Duration
				i := 0
				for b.Loop() {
					for turn := range pair {
						who := (turn + i) % 2
						began := time.Now()
						if _, err := pair[who](context.Background(), i); err != nil {
							b.Fatal(err)
						}
						took[who] = append(took[who], time.Since(began))
					}
					i++
				}
				b.ReportMetric(float64(median(took[1]))/float64(median(took[0])), "x-bare")
			})
		}
	}
}

func median(durations []time.Duration) time.Duration {
	slices.Sort(durations)
	return durations[len(durations)/2]
}
