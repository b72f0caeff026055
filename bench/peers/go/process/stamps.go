package process

import (
	"strconv"
	"sync"
	"time"
)

// The longest wait for an event.
const limit = 10 * time.Second

// The interval at which Measure looks at the number of stamps.
const look = 100 * time.Millisecond

// Stamps holds the stamps that reconciles have seen, and the age of each when it was first seen.
type Stamps struct {
	wanted int
	lock   sync.Mutex
	seen   map[int64]int64
}

// NewStamps returns a collection that waits for this many stamps.
func NewStamps(wanted uint64) *Stamps {
	return &Stamps{wanted: int(wanted), seen: make(map[int64]int64)}
}

// Reconciled reports that a reconcile has an object with this annotation.
func (s *Stamps) Reconciled(text string) error {
	now := Now()
	stamp, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	s.lock.Lock()
	if _, found := s.seen[stamp]; !found {
		s.seen[stamp] = now - stamp
	}
	s.lock.Unlock()
	return nil
}

// Measure waits until all stamps were seen or none came for long, and reports the ages. Call it before the first event.
func (s *Stamps) Measure(results Results) {
	before := CPU()
	count, idle := 0, time.Duration(0)
	for count < s.wanted && idle < limit {
		// Poll with a sleep: a goroutine that each reconcile wakes would add to the measured time.
		time.Sleep(look)
		now := s.count()
		idle += look
		if now > count {
			idle = 0
		}
		count = now
	}
	results["latency_cpu"] = CPU() - before
	var waits Histogram
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, wait := range s.seen {
		waits.Add(wait)
	}
	results["stamps"] = float64(len(s.seen))
	results["latency_p50"] = waits.Microseconds(0.5)
	results["latency_p99"] = waits.Microseconds(0.99)
	results["latency_max"] = waits.Microseconds(1)
}

func (s *Stamps) count() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.seen)
}
