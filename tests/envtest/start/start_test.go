// Package start measures how long envtest takes to start and to stop.
package start

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func BenchmarkStart(b *testing.B) {
	var starting, stopping time.Duration
	for b.Loop() {
		environment := &envtest.Environment{}
		began := time.Now()
		if _, err := environment.Start(); err != nil {
			b.Fatal(err)
		}
		started := time.Now()
		if err := environment.Stop(); err != nil {
			b.Fatal(err)
		}
		starting += started.Sub(began)
		stopping += time.Since(started)
	}
	b.ReportMetric(starting.Seconds()*1000/float64(b.N), "start-ms")
	b.ReportMetric(stopping.Seconds()*1000/float64(b.N), "stop-ms")
}
