package process

import (
	"sync"
	"sync/atomic"
	"time"
)

// The work is done when there was no reconcile for this long.
const quiet = time.Second

// Settle counts reconciles, of which an object may have several, until the work is done.
type Settle struct {
	start  time.Time
	wanted uint64
	count  atomic.Uint64
	once   sync.Once
	first  moment
	// Nanoseconds from the start to the end of the last reconcile.
	last atomic.Int64
}

// NewSettle returns the counter of a program that has just started.
func NewSettle(wanted uint64) *Settle {
	return &Settle{start: time.Now(), wanted: wanted}
}

// Reconciled reports that a reconcile has ended.
func (s *Settle) Reconciled() {
	s.once.Do(func() { s.first = moment{time.Now(), CPU()} })
	s.count.Add(1)
	s.last.Store(int64(time.Since(s.start)))
}

// Measure waits until the work is done and reports the cost. The processor time counts until then, because the watch
// events after the last reconcile belong to the work.
func (s *Settle) Measure(results Results) {
	var last time.Duration
	for {
		time.Sleep(100 * time.Millisecond)
		last = time.Duration(s.last.Load())
		if s.count.Load() >= s.wanted && time.Since(s.start) > last+quiet {
			break
		}
	}
	results["reconciles"] = float64(s.count.Load())
	results["rss_drained"] = Memory("VmRSS")
	results["reconciled_seconds"] = last.Seconds()
	results["drain_seconds"] = (last - s.first.when.Sub(s.start)).Seconds()
	results["drain_cpu"] = CPU() - s.first.cpu
}
