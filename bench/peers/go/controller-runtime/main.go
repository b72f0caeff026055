// controller-runtime with its default settings: a manager with one controller for ConfigMaps.
//
//   - config.GetConfig, manager.New: QPS -1 (pkg/client/config/config.go), leader election off, health probes off. The
//     metrics server is off as well, which is not the default (":8080"); the metrics are counted anyway.
//   - Protobuf, its default for built-in kinds (pkg/client/apiutil/apimachinery.go, createRestConfig). BENCH_JSON=1
//     selects JSON, which custom resources use.
//   - In cleartext Go's default transport, which keeps two idle connections for a server. BENCH_IDLE=1 selects one that
//     keeps 100.
//   - A client that reads from the cache, which copies each object (pkg/cache: UnsafeDisableDeepCopy is off). The priority
//     queue is on and read-your-writes is off, which are the defaults.
//   - 16 workers (MaxConcurrentReconciles), like every peer here; the default is 1.
//   - A logger like that of its examples (zap.New), which logs errors only.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	apply "k8s.io/client-go/applyconfigurations/core/v1"
	meta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"pilothouse.dev/bench/peers/process"
)

// The number of workers of every peer.
const workers = 16

func main() {
	process.Run(map[string]func(process.Results) error{
		"exit":      exit,
		"reconcile": nothing,
		"apply":     children,
		"owned":     owned,
		"latency":   latency,
		"parked":    parked,
	})
}

// reconciler is the code that a user writes, without the lookup, which is the same for all workloads.
type reconciler func(ctx context.Context, c client.Client, object *corev1.ConfigMap) (ctrl.Result, error)

// start runs a controller in the background of the measurement.
func start(reconciler reconciler, owned ...client.Object) error {
	mgr, err := newManager(reconciler, owned...)
	if err != nil {
		return err
	}
	go func() {
		// Start only returns with an error.
		fmt.Fprintln(os.Stderr, mgr.Start(context.Background()))
		os.Exit(1)
	}()
	return nil
}

// newManager returns a manager of a controller that has not started.
func newManager(reconciler reconciler, owned ...client.Object) (manager.Manager, error) {
	ctrl.SetLogger(zap.New(zap.Level(zapcore.ErrorLevel)))
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	if os.Getenv("BENCH_JSON") != "" {
		config.ContentType = "application/json"
	}
	if os.Getenv("BENCH_IDLE") != "" {
		keepConnections(config)
	}
	mgr, err := ctrl.NewManager(config, manager.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	c := mgr.GetClient()
	builder := ctrl.NewControllerManagedBy(mgr).
		For(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	for _, kind := range owned {
		builder = builder.Owns(kind)
	}
	err = builder.
		Complete(reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
			object := &corev1.ConfigMap{}
			if err := c.Get(ctx, request.NamespacedName, object); err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			return reconciler(ctx, c, object)
		}))
	return mgr, err
}

// keepConnections gives the client a transport that keeps a connection for each worker. In cleartext, the one that client-go chooses is Go's
// default (client-go transport/cache.go), which keeps two for a server: with 16 workers, most requests open one. Over TLS client-go keeps 25.
func keepConnections(config *rest.Config) {
	if config.CAData != nil || config.CAFile != "" {
		return
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 100, 100
	config.Transport = transport
}

// nothing measures a reconcile that does nothing.
func nothing(results process.Results) error {
	return drained(results, func(context.Context, client.Client, *corev1.ConfigMap) (ctrl.Result, error) {
		return ctrl.Result{}, nil
	})
}

// exit runs a controller until SIGTERM, which it handles as controller-runtime's examples have it.
func exit(results process.Results) error {
	objects, err := process.Setting("BENCH_OBJECTS")
	if err != nil {
		return err
	}
	drain := process.NewDrain(objects)
	mgr, err := newManager(func(context.Context, client.Client, *corev1.ConfigMap) (ctrl.Result, error) {
		drain.Reconciled()
		return ctrl.Result{}, nil
	})
	if err != nil {
		return err
	}
	go func() {
		drain.Measure(results)
		if err := results.Print(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.WriteString("synced\n")
	}()
	return mgr.Start(ctrl.SetupSignalHandler())
}

// children measures a reconcile that applies a child.
func children(results process.Results) error {
	return drained(results, func(ctx context.Context, c client.Client, object *corev1.ConfigMap) (ctrl.Result, error) {
		child := apply.ConfigMap("child-"+object.Name, object.Namespace).
			WithOwnerReferences(owner(object)).
			WithData(map[string]string{"text": object.Name})
		return ctrl.Result{}, c.Apply(ctx, child, client.FieldOwner("bench"), client.ForceOwnership)
	})
}

// owned measures a reconcile that owns a Secret, which is watched.
func owned(results process.Results) error {
	objects, err := process.Setting("BENCH_OBJECTS")
	if err != nil {
		return err
	}
	settle := process.NewSettle(objects)
	err = start(func(ctx context.Context, c client.Client, object *corev1.ConfigMap) (ctrl.Result, error) {
		child := apply.Secret("child-"+object.Name, object.Namespace).
			WithOwnerReferences(owner(object)).
			WithData(map[string][]byte{"text": []byte(object.Name)})
		err := c.Apply(ctx, child, client.FieldOwner("bench"), client.ForceOwnership)
		if err == nil {
			settle.Reconciled()
		}
		return ctrl.Result{}, err
	}, &corev1.Secret{})
	if err != nil {
		return err
	}
	settle.Measure(results)
	return nil
}

func owner(object *corev1.ConfigMap) *meta.OwnerReferenceApplyConfiguration {
	return meta.OwnerReference().
		WithAPIVersion("v1").
		WithKind("ConfigMap").
		WithName(object.Name).
		WithUID(object.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

func drained(results process.Results, reconciler reconciler) error {
	objects, err := process.Setting("BENCH_OBJECTS")
	if err != nil {
		return err
	}
	drain := process.NewDrain(objects)
	err = start(func(ctx context.Context, c client.Client, object *corev1.ConfigMap) (ctrl.Result, error) {
		result, err := reconciler(ctx, c, object)
		if err == nil {
			drain.Reconciled()
		}
		return result, err
	})
	if err != nil {
		return err
	}
	drain.Measure(results)
	return nil
}

// latency reads the stamp of each object.
func latency(results process.Results) error {
	objects, err := process.Setting("BENCH_OBJECTS")
	if err != nil {
		return err
	}
	events, err := process.Setting("BENCH_EVENTS")
	if err != nil {
		return err
	}
	drain, stamps := process.NewDrain(objects), process.NewStamps(events)
	err = start(func(_ context.Context, _ client.Client, object *corev1.ConfigMap) (ctrl.Result, error) {
		if stamp, found := object.Annotations["bench/stamp"]; found {
			return ctrl.Result{}, stamps.Reconciled(stamp)
		}
		drain.Reconciled()
		return ctrl.Result{}, nil
	})
	if err != nil {
		return err
	}
	drain.Measure(results)
	os.Stdout.WriteString("synced\n")
	stamps.Measure(results)
	return nil
}

// parked requeues each object for later in its last reconcile.
func parked(results process.Results) error {
	objects, err := process.Setting("BENCH_OBJECTS")
	if err != nil {
		return err
	}
	phases := process.NewPhases(objects)
	err = start(func(context.Context, client.Client, *corev1.ConfigMap) (ctrl.Result, error) {
		if phases.Reconciled() {
			return ctrl.Result{RequeueAfter: process.Later}, nil
		}
		return ctrl.Result{}, nil
	})
	if err != nil {
		return err
	}
	phases.Measure(results)
	return nil
}
