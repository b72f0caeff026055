package process

import "runtime"

// Allocations counts Go's allocations since the start of the program. The runtime always counts them.
type Allocations struct{ count, bytes uint64 }

// NowAllocated returns the allocations until now. It stops the program for a moment.
func NowAllocated() Allocations {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return Allocations{stats.Mallocs, stats.TotalAlloc}
}

// Allocated reports the number and the bytes of allocations since then.
func (r Results) Allocated(before Allocations) {
	now := NowAllocated()
	r["allocations"] = float64(now.count - before.count)
	r["allocated"] = float64(now.bytes - before.bytes)
}

// live returns the bytes of live heap objects after two collections. The second one frees the content of each sync.Pool.
func live() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
