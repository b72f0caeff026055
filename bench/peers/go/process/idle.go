package process

import (
	"fmt"
	"time"
)

// Caches is the number of caches of a process that is idle.
const Caches = 200

// The time until everything that followed the syncs has ended.
const settle = 3 * time.Second

// Selector returns a selector that matches all Pods and is different for each cache.
func Selector(number int) string {
	return fmt.Sprintf("watch!=w%d", number)
}

// One records the memory with one object, a second after the first cache was filled.
func (r Results) One() {
	time.Sleep(time.Second)
	r["rss_one"] = Memory("VmRSS")
}

// Idle watches the process for as many seconds as the harness wants. Call it when all caches are full.
func (r Results) Idle() error {
	seconds, err := Setting("BENCH_EVENTS")
	if err != nil {
		return err
	}
	time.Sleep(settle)
	slept, cpu := AllSleeps(), CPU()
	time.Sleep(time.Duration(seconds) * time.Second)
	r["idle_wakeups"], r["idle_cpu"] = AllSleeps()-slept, CPU()-cpu
	r["idle_seconds"], r["rss_idle"], r["caches"] = float64(seconds), Memory("VmRSS"), Caches
	return nil
}
