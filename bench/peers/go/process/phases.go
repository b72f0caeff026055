package process

import (
	"os"
	"sync/atomic"
	"time"
)

// Later is the delay of the requeue at the end.
const Later = time.Hour

// Phases counts reconciles of all objects in three phases: at first, after a change of each object, and after another
// change, when each object is requeued for later. The difference between the second and the third phase is the memory of
// the requeues.
type Phases struct {
	objects uint64
	count   atomic.Uint64
	done    chan struct{}
}

// NewPhases returns the counter of a program that reconciles this many objects.
func NewPhases(objects uint64) *Phases {
	return &Phases{objects: objects, done: make(chan struct{}, 3)}
}

// Reconciled reports that a reconcile has ended. It returns whether the object is to be requeued for later.
func (p *Phases) Reconciled() bool {
	count := p.count.Add(1)
	if count%p.objects == 0 {
		select {
		case p.done <- struct{}{}:
		default:
			// There were more than three reconciles per object. The harness notices it by their number.
		}
	}
	return count > 2*p.objects
}

// Measure goes through all phases and reports the memory in use. The harness tells the server to send the changes.
func (p *Phases) Measure(results Results) {
	for _, name := range []string{"first", "idle_bytes", "parked_bytes"} {
		<-p.done
		time.Sleep(time.Second)
		if name != "first" {
			results[name] = live()
		}
		if name != "parked_bytes" {
			os.Stdout.WriteString("synced\n")
		}
	}
	results["objects"] = float64(p.objects)
	results["reconciles"] = float64(p.count.Load())
}
