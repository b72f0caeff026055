package process

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// Reader gets random objects from a cache and measures the time of each get. After each get it runs an idle loop of the
// same length. The machine causes the delays of that loop, not the cache.
type Reader struct {
	isOver atomic.Bool
	done   chan error
	gets   Histogram
	// The durations of the idle loops, which look at the clock for as long as the get before took.
	idle Histogram
	// How often the thread of the reader slept.
	sleeps float64
}

// The longest idle loop. Without a limit, the loop after an interrupted get would be just as long.
const longestIdle = 10 * time.Microsecond

// StartReader starts to get these keys. A get that finds nothing is an error, because all objects exist all the time.
func StartReader(keys []string, get func(key string) bool) (*Reader, error) {
	if err := ForgetPeak(); err != nil {
		return nil, err
	}
	reader := &Reader{done: make(chan error, 1)}
	go func() { reader.done <- reader.run(keys, get) }()
	return reader, nil
}

func (r *Reader) run(keys []string, get func(key string) bool) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slept := Sleeps()
	random, before := uint64(1), time.Now()
	for !r.isOver.Load() {
		// xorshift64
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		key := keys[random%uint64(len(keys))]
		if !get(key) {
			return fmt.Errorf("the cache has no %s", key)
		}
		got := time.Now()
		took := got.Sub(before)
		r.gets.Add(took.Nanoseconds())
		for before = time.Now(); before.Sub(got) < min(took, longestIdle); {
			before = time.Now()
		}
		r.idle.Add(before.Sub(got).Nanoseconds())
	}
	r.sleeps = Sleeps() - slept
	return nil
}

// End stops the reader after the relist and reports its times.
func (r *Reader) End(results Results) error {
	results["peak_relist"] = Memory("VmHWM")
	r.isOver.Store(true)
	if err := <-r.done; err != nil {
		return err
	}
	results["read_sleeps"] = r.sleeps
	results["reads"] = float64(r.gets.all)
	results["read_p50"] = r.gets.Microseconds(0.5)
	results["read_p99"] = r.gets.Microseconds(0.99)
	results["read_p9999"] = r.gets.Microseconds(0.9999)
	results["read_max"] = r.gets.Microseconds(1)
	results["idle_p9999"] = r.idle.Microseconds(0.9999)
	return nil
}
