package process

import (
	"os"
	"sync/atomic"
	"time"
)

// Later is how long all are parked in the end.
const Later = time.Hour

// Phases counts reconciles of all objects, three times: first, after a change of each, and after another one, when all are
// to be reconciled again later. What that keeps in memory is the difference between the second and the third.
type Phases struct {
	objects uint64
	count   atomic.Uint64
	done    chan struct{}
}

// NewPhases is of a program that reconciles so many objects.
func NewPhases(objects uint64) *Phases {
	return &Phases{objects: objects, done: make(chan struct{}, 3)}
}

// Reconciled says that a reconcile has come to its end; it tells whether its object is to be reconciled again later.
func (p *Phases) Reconciled() bool {
	count := p.count.Add(1)
	if count%p.objects == 0 {
		select {
		case p.done <- struct{}{}:
		default:
			// There are more than three: the harness sees it in their number.
		}
	}
	return count > 2*p.objects
}

// Measure goes through all, and tells what was in use. The harness asks the server for the changes.
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
