// Command envtest is etcd or kube-apiserver, as the name under which it is started says, with the flags of these two.
//
// controller-runtime's envtest starts both from the folder of KUBEBUILDER_ASSETS. tests/envtest compares the sandbox with
// them. Both come from the same modules as the control plane in the folder above.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	etcdflags "go.etcd.io/etcd/pkg/v3/flags"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "etcd":
		if err := runEtcd(os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
			os.Exit(1)
		}
	default:
		fmt.Fprintf(os.Stderr, "%s: start this program as etcd or as kube-apiserver\n", name)
		os.Exit(2)
	}
}

func runEtcd(args []string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	config := embed.NewConfig()
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	config.AddFlags(flags)
	// envtest asks for the help first: it passes only flags that stand there, with two dashes.
	flags.Usage = func() {
		flags.VisitAll(func(flag *flag.Flag) { fmt.Fprintf(os.Stderr, "  --%s\n    \t%s\n", flag.Name, flag.Usage) })
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	// Of flags with URLs the package only checks the values.
	config.ListenClientUrls = etcdflags.UniqueURLsFromFlag(flags, "listen-client-urls")
	config.AdvertiseClientUrls = etcdflags.UniqueURLsFromFlag(flags, "advertise-client-urls")
	config.ListenPeerUrls = etcdflags.UniqueURLsFromFlag(flags, "listen-peer-urls")
	config.AdvertisePeerUrls = config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	// etcd logs its normal end as an error. Real errors are returned.
	config.LogLevel = "panic"
	store, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer store.Close()
	select {
	case err := <-store.Err():
		return err
	case <-signals:
		return nil
	}
}
