package process

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// Reader gets random objects from a cache, one after the other without a pause, and takes the time of each.
type Reader struct {
	isOver atomic.Bool
	done   chan error
	waits  Histogram
	// How often its thread slept.
	sleeps float64
}

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
		after := time.Now()
		r.waits.Add(after.Sub(before).Nanoseconds())
		before = after
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
	results["reads"] = float64(r.waits.all)
	results["read_p50"] = r.waits.Microseconds(0.5)
	results["read_p99"] = r.waits.Microseconds(0.99)
	results["read_p9999"] = r.waits.Microseconds(0.9999)
	results["read_max"] = r.waits.Microseconds(1)
	return nil
}
