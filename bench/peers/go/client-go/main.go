// client-go with its default settings: a shared informer of all Pods with one handler.
//
//   - clientcmd's default loading rules; the typed clientset of k8s.io/client-go/kubernetes.
//   - Protobuf, the typed clients' default for built-in kinds (rest/request.go, UseProtobufAsDefault). BENCH_JSON=1
//     selects JSON, which custom resources use.
//   - WatchListClient with its default (features/known_features.go): on.
//   - QPS -1, as controller-runtime's config loader sets it (pkg/client/config/config.go); one list and one watch are
//     far from any limit.
//   - informers.NewSharedInformerFactoryWithOptions without a resync; BENCH_CLEAR=1 adds a transform that clears the
//     managed fields; GOGC and GOMAXPROCS with Go's defaults.
//
// An event counts when the informer calls the handler, which is after it stored the object.
package main

import (
	"os"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"pilothouse.dev/bench/peers/process"
)

func main() {
	process.Run(map[string]func(process.Results) error{
		"cache":       changes,
		"churn":       changes,
		"allocations": changes,
		"relist":      relist,
	})
}

// start fills a cache that reports changes, waits a second and returns it.
func start(results process.Results, changed func(pod *corev1.Pod)) (cache.Store, error) {
	start := time.Now()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	if os.Getenv("BENCH_JSON") != "" {
		config.ContentType = "application/json"
		config.AcceptContentTypes = "application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var options []informers.SharedInformerOption
	if os.Getenv("BENCH_CLEAR") != "" {
		options = append(options, informers.WithTransform(func(object any) (any, error) {
			if pod, is := object.(*corev1.Pod); is {
				pod.ManagedFields = nil
			}
			return object, nil
		}))
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, options...)
	informer := factory.Core().V1().Pods().Informer()
	handler := cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			if !isInInitialList {
				changed(object.(*corev1.Pod))
			}
		},
		UpdateFunc: func(before, after any) {
			if pod := after.(*corev1.Pod); before.(*corev1.Pod).ResourceVersion != pod.ResourceVersion {
				changed(pod)
			}
		},
		// A deletion found by a relist has another type (DeletedFinalStateUnknown), which would be an error here.
		DeleteFunc: func(object any) { changed(object.(*corev1.Pod)) },
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return nil, err
	}
	factory.Start(make(chan struct{}))
	for !informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	after, cpu := time.Since(start), process.CPU()
	time.Sleep(time.Second)
	results.Synced(len(informer.GetStore().ListKeys()), after, cpu)
	return informer.GetStore(), nil
}

func changes(results process.Results) error {
	wanted, err := process.Setting("BENCH_EVENTS")
	if err != nil {
		return err
	}
	var seen atomic.Uint64
	first, last := make(chan struct{}), make(chan struct{})
	if _, err := start(results, func(*corev1.Pod) {
		count := seen.Add(1)
		if count == 1 {
			close(first)
		}
		if count == wanted {
			close(last)
		}
	}); err != nil {
		return err
	}
	before, allocated := process.CPU(), process.NowAllocated()
	os.Stdout.WriteString("synced\n")
	if wanted > 0 {
		<-first
		begin := time.Now()
		<-last
		results["events_seconds"], results["events_cpu"] = time.Since(begin).Seconds(), process.CPU()-before
		results.Allocated(allocated)
		time.Sleep(time.Second)
	}
	results["events"] = float64(seen.Load())
	results["rss_events"] = process.Memory("VmRSS")
	return nil
}

// relist reads from the cache with one goroutine while the informer lists all Pods again.
func relist(results process.Results) error {
	listed := make(chan struct{}, 1)
	store, err := start(results, func(pod *corev1.Pod) {
		if _, stamped := pod.Annotations["bench/stamp"]; stamped {
			listed <- struct{}{}
		}
	})
	if err != nil {
		return err
	}
	before := uint64(0)
	for _, version := range versions(store) {
		before = max(before, version)
	}
	reader, err := process.StartReader(store.ListKeys(), func(key string) bool {
		_, found, err := store.GetByKey(key)
		return found && err == nil
	})
	if err != nil {
		return err
	}
	os.Stdout.WriteString("synced\n")
	<-listed
	if err := reader.End(results); err != nil {
		return err
	}
	changed := 0
	for _, version := range versions(store) {
		if version > before {
			changed++
		}
	}
	results["changed"] = float64(changed)
	return nil
}

func versions(store cache.Store) []uint64 {
	var versions []uint64
	for _, object := range store.List() {
		version, err := strconv.ParseUint(object.(*corev1.Pod).ResourceVersion, 10, 64)
		if err != nil {
			panic(err)
		}
		versions = append(versions, version)
	}
	return versions
}
