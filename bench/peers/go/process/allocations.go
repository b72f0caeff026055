package process

import "runtime"

// Allocations are what was asked of Go's allocator since the start of the program. It counts them always.
type Allocations struct{ count, bytes uint64 }

// NowAllocated is until now. It stops the program for a moment.
func NowAllocated() Allocations {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return Allocations{stats.Mallocs, stats.TotalAlloc}
}

// Allocated says how often memory was asked for since then, and for how much.
func (r Results) Allocated(before Allocations) {
	now := NowAllocated()
	r["allocations"] = float64(now.count - before.count)
	r["allocated"] = float64(now.bytes - before.bytes)
}

// live is what is in use of the heap, after a collection of what is not. What a sync.Pool has goes with the second one.
func live() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
