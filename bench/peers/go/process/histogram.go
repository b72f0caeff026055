package process

import (
	"math"
	"math/bits"
)

// Each of the first 128 nanoseconds has its own bucket. Above, each power of two has half as many buckets.
const fine = 128

// Histogram counts times in nanoseconds to 1.6 %, and keeps the longest exactly.
type Histogram struct {
	counts  [fine + 57*fine/2]uint64
	all     uint64
	longest uint64
}

// Add counts a time.
func (h *Histogram) Add(nanoseconds int64) {
	time := uint64(max(nanoseconds, 0))
	h.counts[place(time)]++
	h.all++
	h.longest = max(h.longest, time)
}

// Microseconds returns the time that this share of the times does not exceed; 1 gives the longest.
func (h *Histogram) Microseconds(share float64) float64 {
	wanted := max(uint64(math.Ceil(float64(h.all)*share)), 1)
	var passed uint64
	for place, count := range h.counts {
		if passed += count; passed >= wanted {
			return float64(min(begin(place+1)-1, h.longest)) / 1e3
		}
	}
	return 0
}

// place returns the bucket of a time.
func place(time uint64) int {
	if time < fine {
		return int(time)
	}
	shift := bits.Len64(time) - bits.Len64(fine) + 1
	return shift*fine/2 + int(time>>shift)
}

// begin returns the first time of a bucket.
func begin(place int) uint64 {
	if place < fine {
		return uint64(place)
	}
	shift := place/(fine/2) - 1
	return uint64(place-shift*fine/2) << shift
}
