// Command informer prints the events that the handlers of a client-go informer receive, one JSON object per line, to compare
// them with the listeners of Pilothouse: `informer <kubeconfig> <group/version/resource> <namespace> <label selector>`.
//
// A line `listen` on the standard input adds a handler. The program ends with its input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// line is an event of a handler. Old is the version that an update replaces. Recreated means that Old belongs to another
// object. LastKnown means that the informer missed the deletion and Object is the last known state.
type line struct {
	Listener  int    `json:"listener"`
	Event     string `json:"event"`
	Name      string `json:"name"`
	Version   string `json:"version"`
	Old       string `json:"old,omitempty"`
	Initial   bool   `json:"initial,omitempty"`
	Recreated bool   `json:"recreated,omitempty"`
	LastKnown bool   `json:"last_known,omitempty"`
}

// handler prints its events as listener number n.
type handler struct {
	n      int
	output *output
}

type output struct {
	mutex   sync.Mutex
	encoder *json.Encoder
}

func (h handler) tell(event line) {
	h.output.mutex.Lock()
	defer h.output.mutex.Unlock()
	event.Listener = h.n
	if err := h.output.encoder.Encode(event); err != nil {
		os.Exit(0)
	}
}

func (h handler) OnAdd(object any, initial bool) {
	added := object.(*unstructured.Unstructured)
	h.tell(line{Event: "added", Name: added.GetName(), Version: added.GetResourceVersion(), Initial: initial})
}

func (h handler) OnUpdate(before, after any) {
	old, updated := before.(*unstructured.Unstructured), after.(*unstructured.Unstructured)
	h.tell(line{
		Event:     "updated",
		Name:      updated.GetName(),
		Version:   updated.GetResourceVersion(),
		Old:       old.GetResourceVersion(),
		Recreated: old.GetUID() != updated.GetUID(),
	})
}

func (h handler) OnDelete(object any) {
	tombstone, lastKnown := object.(cache.DeletedFinalStateUnknown)
	if lastKnown {
		object = tombstone.Obj
	}
	deleted := object.(*unstructured.Unstructured)
	h.tell(line{
		Event:     "deleted",
		Name:      deleted.GetName(),
		Version:   deleted.GetResourceVersion(),
		LastKnown: lastKnown,
	})
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 4 {
		return fmt.Errorf("usage: informer <kubeconfig> <group/version/resource> <namespace> <label selector>")
	}
	config, err := clientcmd.BuildConfigFromFlags("", arguments[0])
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	resource := strings.Split(arguments[1], "/")
	if len(resource) != 3 {
		return fmt.Errorf("%q is not a group/version/resource", arguments[1])
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(
		client,
		schema.GroupVersionResource{Group: resource[0], Version: resource[1], Resource: resource[2]},
		arguments[2], 0, cache.Indexers{},
		func(options *metav1.ListOptions) { options.LabelSelector = arguments[3] },
	).Informer()

	output := &output{encoder: json.NewEncoder(os.Stdout)}
	listeners := 0
	listen := func() error {
		_, err := informer.AddEventHandler(handler{n: listeners, output: output})
		listeners++
		return err
	}
	if err := listen(); err != nil {
		return err
	}
	context, stop := context.WithCancel(context.Background())
	defer stop()
	go informer.RunWithContext(context)
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		if input.Text() != "listen" {
			return fmt.Errorf("unknown command %q", input.Text())
		}
		if err := listen(); err != nil {
			return err
		}
	}
	return nil
}
