// Command cluster is a control plane for tests: etcd, kube-apiserver and the controllers of
// kube-controller-manager that an operator notices, from their published Go modules, in one binary.
//
//	cluster [--controllers=<names>] [--feature-gates=<gates>] [--admission=<plugins>] [--services=<range>] [--audit] <folder>
//	cluster kubectl <arguments>
//	cluster kubelet --kubeconfig=<file> --node=<name> <folder>
//
// It listens only on loopback, on free ports, with certificates for this run, and writes <folder>/kubeconfig. When all
// components answer, it prints one line, "ready: <folder>/kubeconfig". It ends on SIGTERM, on SIGINT and when its
// standard input ends, and removes all files that it has written into the folder. The names of controllers are those of
// kube-controller-manager; by default all controllers run whose work an operator or its user can see. The gates are
// those of kube-apiserver, and the plugins are its admission plugins beside the default ones. The range is that of the addresses
// of Services. With --audit, kube-apiserver logs each request at level Metadata in <folder>/audit.log. The second
// form is kubectl of the same version. The third one serves a node of a running cluster, as runKubelet says, and prints "ready: <name>".
//
// Each component is a child process, because flags, feature gates and metrics are global in the process of each
// component. A child also ends when its standard input ends, so no child outlives a killed parent.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case apiServer:
			return runAPIServer(args[1:])
		case controllerManager:
			return runControllerManager(args[1:])
		case kubectl:
			return runKubectl(args[1:])
		case kubelet:
			return runKubelet(args[1:])
		}
	}
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	controllers := flags.String("controllers", watchedControllers, "the controllers to run, comma separated")
	gates := flags.String("feature-gates", "", "kube-apiserver's feature gates, as name=true, comma separated")
	admission := flags.String("admission", "", "kube-apiserver's admission plugins beside the default ones, comma separated")
	services := flags.String("services", "10.96.0.0/16", "the range of the addresses of Services")
	audit := flags.Bool("audit", false, "write kube-apiserver's audit log")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("usage: cluster [--controllers=<names>] [--feature-gates=<gates>] [--admission=<plugins>] [--services=<range>] [--audit] <folder>")
	}
	return supervise(flags.Arg(0), *controllers, *gates, *admission, *services, *audit)
}
