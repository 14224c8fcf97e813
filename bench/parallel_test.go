package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/unavez/unavez"
)

// BenchmarkCreateAtOnce is Create by several goroutines of one client, each with keys of its own.
func BenchmarkCreateAtOnce(b *testing.B) {
	for _, at := range places(b) {
		for _, goroutines := range []int{1, 8, 64, 512} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", at.name, goroutines), func(b *testing.B) {
				send := viaSDK(b, at)
				b.ReportAllocs()
				b.ResetTimer()
				atOnce(b, goroutines, send)
			})
		}
	}
}

// atOnce shares b.N writes out among goroutines.
func atOnce(b *testing.B, goroutines int, send post) {
	b.Helper()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range goroutines {
		workers.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if _, err := send(context.Background(), int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
}

// BenchmarkDoubleClick is one key by several goroutines: they share one request.
func BenchmarkDoubleClick(b *testing.B) {
	at := places(b)[0]
	for _, goroutines := range []int{2, 64} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			send := viaCancellableSDK(b, at)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				var callers sync.WaitGroup
				for range goroutines {
					callers.Go(func() {
						if _, err := send(context.Background(), i); err != nil {
							b.Error(err)
						}
					})
				}
				callers.Wait()
			}
		})
	}
}

// BenchmarkMemory reports how much the heap has grown after so many writes with the default journal, which is bounded:
//
//	go test -run '^$' -bench '^BenchmarkMemory$' -benchtime 1000000x
func BenchmarkMemory(b *testing.B) {
	at := places(b)[0]
	client := newSDK(b, at)
	send := create(client, "factura")
	before := heap()
	for i := range b.N {
		if _, err := send(context.Background(), i); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	grown := heap() - before
	b.ReportMetric(float64(grown), "heap-B")
	b.ReportMetric(float64(grown)/float64(min(b.N, unavez.DefaultMemoryRecords)), "heap-B/record")
	if _, err := client.DeriveKey("factura", strconv.Itoa(b.N)); err != nil { // the client is alive until here
		b.Fatal(err)
	}
}

// heap returns the bytes that are in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
