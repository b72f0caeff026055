package process

import (
	"fmt"
	"math/rand"
	"runtime"
	"time"
)

// The number of objects that are read again and again, and how often.
const (
	again = 100
	times = 100_000
)

// Gets gets each key once, in a random order, and then a few of them again and again. A get that finds nothing is an error.
func (r Results) Gets(keys []string, get func(key string) bool) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	random := rand.New(rand.NewSource(1))
	random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	var first, more Histogram
	for _, key := range keys {
		if err := timed(&first, key, get); err != nil {
			return err
		}
	}
	few := keys[:min(again, len(keys))]
	for number := range times {
		if err := timed(&more, few[number%len(few)], get); err != nil {
			return err
		}
	}
	r["gets"] = float64(first.all)
	r["asleep_p50"], r["asleep_p99"] = first.Microseconds(0.5), first.Microseconds(0.99)
	r["awake_p50"], r["awake_p99"] = more.Microseconds(0.5), more.Microseconds(0.99)
	return nil
}

func timed(histogram *Histogram, key string, get func(key string) bool) error {
	before := time.Now()
	found := get(key)
	histogram.Add(time.Since(before).Nanoseconds())
	if !found {
		return fmt.Errorf("the cache has no %s", key)
	}
	return nil
}
