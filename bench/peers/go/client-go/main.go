// client-go with its default settings: a shared informer of all objects of the kind in BENCH_SHAPE with one handler.
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
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		"idle":        idle,
		"kinds":       kinds,
		"paced":       changes,
		"allocations": changes,
		"reads":       reads,
		"relist":      relist,
	})
}

// newClient returns a client with the settings that the harness asks for.
func newClient() (*kubernetes.Clientset, error) {
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
	return kubernetes.NewForConfig(config)
}

// newFactory returns a factory of informers with the settings that the harness asks for.
func newFactory(client *kubernetes.Clientset, options ...informers.SharedInformerOption) informers.SharedInformerFactory {
	if os.Getenv("BENCH_CLEAR") != "" {
		options = append(options, informers.WithTransform(func(object any) (any, error) {
			if object, is := object.(metav1.Object); is {
				object.SetManagedFields(nil)
			}
			return object, nil
		}))
	}
	return informers.NewSharedInformerFactoryWithOptions(client, 0, options...)
}

// start fills a cache that reports changes, waits a second and returns it.
func start(results process.Results, changed func(object metav1.Object)) (cache.Store, error) {
	start := time.Now()
	client, err := newClient()
	if err != nil {
		return nil, err
	}
	factory := newFactory(client)
	informer, err := informerOf(factory, os.Getenv("BENCH_SHAPE"))
	if err != nil {
		return nil, err
	}
	handler := cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			if !isInInitialList {
				changed(object.(metav1.Object))
			}
		},
		UpdateFunc: func(before, after any) {
			object := after.(metav1.Object)
			if before.(metav1.Object).GetResourceVersion() != object.GetResourceVersion() {
				changed(object)
			}
		},
		// A deletion found by a relist has another type (DeletedFinalStateUnknown), which would be an error here.
		DeleteFunc: func(object any) { changed(object.(metav1.Object)) },
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return nil, err
	}
	fill(results, start, factory, informer)
	return informer.GetStore(), nil
}

// fill starts the informers of a factory, waits until they have synced and a second more, and reports the cost.
func fill(results process.Results, start time.Time, factory informers.SharedInformerFactory, all ...cache.SharedIndexInformer) {
	factory.Start(make(chan struct{}))
	wait(all...)
	after, cpu := time.Since(start), process.CPU()
	time.Sleep(time.Second)
	objects := 0
	for _, informer := range all {
		objects += len(informer.GetStore().ListKeys())
	}
	results.Synced(objects, after, cpu)
}

// kinds fills caches of four kinds at once.
func kinds(results process.Results) error {
	start := time.Now()
	client, err := newClient()
	if err != nil {
		return err
	}
	factory := newFactory(client)
	core := factory.Core().V1()
	fill(results, start, factory,
		core.Pods().Informer(), core.Nodes().Informer(), core.ConfigMaps().Informer(), core.Secrets().Informer())
	os.Stdout.WriteString("synced\n")
	return nil
}

// idle fills many caches of Pods, each with its own selector, whose watches stay silent.
func idle(results process.Results) error {
	client, err := newClient()
	if err != nil {
		return err
	}
	start := func(number int) cache.SharedIndexInformer {
		factory := newFactory(client, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.LabelSelector = process.Selector(number)
		}))
		informer := factory.Core().V1().Pods().Informer()
		factory.Start(make(chan struct{}))
		return informer
	}
	first := start(0)
	wait(first)
	results.One()
	var others []cache.SharedIndexInformer
	for number := 1; number < process.Caches; number++ {
		others = append(others, start(number))
	}
	wait(others...)
	return results.Idle()
}

func wait(all ...cache.SharedIndexInformer) {
	for _, informer := range all {
		for !informer.HasSynced() {
			time.Sleep(time.Millisecond)
		}
	}
}

// informerOf returns the informer of a kind by the name that the harness gives it.
func informerOf(factory informers.SharedInformerFactory, shape string) (cache.SharedIndexInformer, error) {
	core := factory.Core().V1()
	switch shape {
	case "", "pods":
		return core.Pods().Informer(), nil
	case "nodes":
		return core.Nodes().Informer(), nil
	case "secrets":
		return core.Secrets().Informer(), nil
	case "configmaps", "small":
		return core.ConfigMaps().Informer(), nil
	}
	return nil, fmt.Errorf("BENCH_SHAPE: unknown shape %q", shape)
}

func changes(results process.Results) error {
	wanted, err := process.Setting("BENCH_EVENTS")
	if err != nil {
		return err
	}
	var seen atomic.Uint64
	first, last := make(chan struct{}), make(chan struct{})
	if _, err := start(results, func(metav1.Object) {
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

// reads gets objects from a cache that nothing changes.
func reads(results process.Results) error {
	store, err := start(results, func(metav1.Object) {})
	if err != nil {
		return err
	}
	os.Stdout.WriteString("synced\n")
	return results.Gets(store.ListKeys(), func(key string) bool {
		_, found, err := store.GetByKey(key)
		return found && err == nil
	})
}

// relist reads from the cache with one goroutine while the informer lists all objects again.
func relist(results process.Results) error {
	listed := make(chan struct{}, 1)
	store, err := start(results, func(object metav1.Object) {
		if _, stamped := object.GetAnnotations()["bench/stamp"]; stamped {
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
		version, err := strconv.ParseUint(object.(metav1.Object).GetResourceVersion(), 10, 64)
		if err != nil {
			panic(err)
		}
		versions = append(versions, version)
	}
	return versions
}
