package process

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// Reader gets random objects from a cache, and takes the time of each. After each it does nothing for as long: what that
// takes longer is the machine's doing, and no cache's.
type Reader struct {
	isOver atomic.Bool
	done   chan error
	gets   Histogram
	// To look at the clock until as much time has passed as the get before took.
	idle Histogram
	// How often its thread slept.
	sleeps float64
}

// So long it does nothing at most: after a get that was interrupted it would else be as long by itself.
const longestIdle = 10 * time.Microsecond

// StartReader gets by these keys. That one finds nothing is an error: all objects are there all the time.
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
			return fmt.Errorf("%s is not there", key)
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

// End says that all has been listed again.
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
