package process

import (
	"sync/atomic"
	"time"
)

// Drain counts reconciles and records the first and the last of them.
type Drain struct {
	start       time.Time
	wanted      uint64
	count       atomic.Uint64
	first, last moment
	done        chan struct{}
}

// moment is a time, and the resources that the process had used by then.
type moment struct {
	when time.Time
	cpu  float64
}

// NewDrain returns the counter of a program that has just started.
func NewDrain(wanted uint64) *Drain {
	return &Drain{start: time.Now(), wanted: wanted, done: make(chan struct{})}
}

// Reconciled reports that a reconcile has ended.
func (d *Drain) Reconciled() {
	switch d.count.Add(1) {
	case 1:
		d.first = moment{time.Now(), CPU()}
		if d.wanted == 1 {
			d.last = d.first
			close(d.done)
		}
	case d.wanted:
		d.last = moment{time.Now(), CPU()}
		close(d.done)
	}
}

// Measure waits for the last reconcile and a second more, and reports the cost.
func (d *Drain) Measure(results Results) {
	<-d.done
	time.Sleep(time.Second)
	results["reconciles"] = float64(d.count.Load())
	results["rss_drained"] = Memory("VmRSS")
	results["reconciled_seconds"] = d.last.when.Sub(d.start).Seconds()
	results["drain_seconds"] = d.last.when.Sub(d.first.when).Seconds()
	results["drain_cpu"] = d.last.cpu - d.first.cpu
}
