// Command elector contends for a Lease with client-go's elector, against electors of Pilothouse:
// `elector <kubeconfig> <namespace> <name> <identity> <lease> <renew> <retry>`, the times as Go writes them.
//
// It prints `leading` and `leader <identity>` when that changes, and releases the Lease when it is told to end.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 7 {
		return fmt.Errorf("elector needs seven arguments, not %d", len(arguments))
	}
	config, err := clientcmd.BuildConfigFromFlags("", arguments[0])
	if err != nil {
		return err
	}
	config.UserAgent = arguments[3]
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var times [3]time.Duration
	for i := range times {
		if times[i], err = time.ParseDuration(arguments[4+i]); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: arguments[1], Name: arguments[2]},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: arguments[3]},
		},
		LeaseDuration:   times[0],
		RenewDeadline:   times[1],
		RetryPeriod:     times[2],
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { fmt.Println("leading") },
			OnStoppedLeading: func() { fmt.Println("stopped") },
			OnNewLeader:      func(identity string) { fmt.Println("leader", identity) },
		},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	return nil
}
