// client-go with what its users get by default: a shared informer of all Pods with one handler.
//
//   - clientcmd's default loading rules; the typed clientset of k8s.io/client-go/kubernetes.
//   - Protobuf, the typed clients' default for built-in kinds (rest/request.go, UseProtobufAsDefault). BENCH_JSON=1 asks
//     for JSON, which is what custom resources have.
//   - WatchListClient as client-go has it (features/known_features.go): on.
//   - QPS -1, as controller-runtime's config loader sets it (pkg/client/config/config.go); one list and one watch are
//     far from any limit.
//   - informers.NewSharedInformerFactory without a resync; GOGC and GOMAXPROCS as Go has them.
//
// An event counts when the handler's UpdateFunc is called, which is after it was stored.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type results struct {
	Objects       int     `json:"objects"`
	SyncSeconds   float64 `json:"sync_seconds"`
	SyncCPU       float64 `json:"sync_cpu"`
	RSSStart      uint64  `json:"rss_start"`
	RSSSync       uint64  `json:"rss_sync"`
	PeakSync      uint64  `json:"peak_sync"`
	Events        uint64  `json:"events"`
	EventsSeconds float64 `json:"events_seconds"`
	EventsCPU     float64 `json:"events_cpu"`
	RSSEvents     uint64  `json:"rss_events"`
	Peak          uint64  `json:"peak"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	r := results{RSSStart: memory("VmRSS:")}
	wanted, err := strconv.ParseUint(os.Getenv("BENCH_EVENTS"), 10, 64)
	if err != nil {
		return fmt.Errorf("BENCH_EVENTS: %w", err)
	}
	start := time.Now()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	if os.Getenv("BENCH_JSON") != "" {
		config.ContentType = "application/json"
		config.AcceptContentTypes = "application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	var updates atomic.Uint64
	first, last := make(chan struct{}), make(chan struct{})
	handler := cache.ResourceEventHandlerDetailedFuncs{UpdateFunc: func(before, after any) {
		if before.(*corev1.Pod).ResourceVersion == after.(*corev1.Pod).ResourceVersion {
			return
		}
		count := updates.Add(1)
		if count == 1 {
			close(first)
		}
		if count == wanted {
			close(last)
		}
	}}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return err
	}
	stop := make(chan struct{})
	factory.Start(stop)
	for !informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	r.SyncSeconds, r.SyncCPU = time.Since(start).Seconds(), cpu()
	time.Sleep(time.Second)
	r.Objects = len(informer.GetStore().ListKeys())
	r.RSSSync, r.PeakSync = memory("VmRSS:"), memory("VmHWM:")
	fmt.Println("synced")

	if wanted > 0 {
		before := cpu()
		<-first
		begin := time.Now()
		<-last
		r.EventsSeconds, r.EventsCPU = time.Since(begin).Seconds(), cpu()-before
		time.Sleep(time.Second)
	}
	r.Events = updates.Load()
	r.RSSEvents, r.Peak = memory("VmRSS:"), memory("VmHWM:")
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(line))
	return err
}

// cpu is the processor time of user and system, in seconds.
func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

// memory is a line of /proc/self/status, in bytes.
func memory(line string) uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for text := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(text, line); found {
			number, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return number * 1024
		}
	}
	return 0
}
