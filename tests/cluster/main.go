// Command cluster is a control plane to test against: etcd, kube-apiserver and the controllers of
// kube-controller-manager that an operator notices, from their published Go modules, in one binary.
//
//	cluster [--controllers=<names>] [--feature-gates=<gates>] <folder>
//	cluster kubectl <arguments>
//
// It listens on loopback only, on free ports, with certificates that live as long as it does, and writes
// <folder>/kubeconfig. When everything answers it prints one line, "ready: <folder>/kubeconfig". It ends when its
// standard input does, on SIGTERM and on SIGINT, and takes with it whatever it has put into the folder. The names of
// controllers are kube-controller-manager's; without them all run whose work an operator or its user sees. The gates are
// those of kube-apiserver. The second form is kubectl of the same version.
//
// Each component is a child process, because each of them owns its process: flags, feature gates and metrics are
// global there. A child ends with its standard input too, so none outlives a parent that was killed.
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
		}
	}
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	controllers := flags.String("controllers", watchedControllers, "the controllers to run, comma separated")
	gates := flags.String("feature-gates", "", "kube-apiserver's feature gates, as name=true, comma separated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("usage: cluster [--controllers=<names>] [--feature-gates=<gates>] <folder>")
	}
	return supervise(flags.Arg(0), *controllers, *gates)
}
