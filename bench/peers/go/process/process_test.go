package process

import (
	"testing"
	"time"
)

func TestTimesAreKnownToAFraction(t *testing.T) {
	var h Histogram
	for time := range int64(100_000) {
		h.Add(time)
	}
	for share, wanted := range map[float64]float64{0.5: 50, 0.99: 99, 1: 99.999} {
		if found := h.Microseconds(share); found < wanted*0.999 || found > wanted*1.02 {
			t.Errorf("%v of the times are up to %v, not %v", share, found, wanted)
		}
	}
	for _, time := range []uint64{0, 127, 128, 129, 255, 256, 1 << 20, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		if place := place(time); begin(place) > time || place < len(h.counts)-1 && begin(place+1) <= time {
			t.Errorf("%d is counted at %d, which begins with %d", time, place, begin(place))
		}
	}
}

func TestADrainIsFromTheFirstToTheLast(t *testing.T) {
	drain, results := NewDrain(3), Results{}
	for range 4 {
		drain.Reconciled()
	}
	drain.Measure(results)
	if results["reconciles"] != 4 || results["drain_seconds"] <= 0 || results["reconciled_seconds"] < results["drain_seconds"] {
		t.Error(results)
	}
}

func TestItIsSettledWhenThereWasNoReconcileForASecond(t *testing.T) {
	settle, results := NewSettle(2), Results{}
	settle.Reconciled()
	go func() {
		for range 3 {
			time.Sleep(500 * time.Millisecond)
			settle.Reconciled()
		}
	}()
	settle.Measure(results)
	if results["reconciles"] != 4 || results["drain_seconds"] < 1.5 || results["reconciled_seconds"] < results["drain_seconds"] {
		t.Error(results)
	}
}

func TestAStampCountsOnce(t *testing.T) {
	stamps, results := NewStamps(2), Results{}
	for _, stamp := range []string{"5", "7", "5"} {
		if err := stamps.Reconciled(stamp); err != nil {
			t.Fatal(err)
		}
	}
	stamps.Measure(results)
	if results["stamps"] != 2 || stamps.Reconciled("late") == nil {
		t.Error(results)
	}
}

func TestOnlyTheThirdReconcileOfAllIsForLater(t *testing.T) {
	phases := NewPhases(2)
	for count := range 6 {
		if later := phases.Reconciled(); later != (count >= 4) {
			t.Errorf("%d: %v", count, later)
		}
	}
	results := Results{}
	phases.Measure(results)
	if results["reconciles"] != 6 || results["objects"] != 2 || results["idle_bytes"] <= 0 || results["parked_bytes"] <= 0 {
		t.Error(results)
	}
}

func TestAllocationsAreCountedSinceTheMoment(t *testing.T) {
	before, results := NowAllocated(), Results{}
	var kept [][]byte
	for range 100 {
		kept = append(kept, make([]byte, 1000))
	}
	results.Allocated(before)
	if len(kept) != 100 || results["allocations"] < 100 || results["allocated"] < 100_000 {
		t.Error(results)
	}
}
