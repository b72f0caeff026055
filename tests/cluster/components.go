package main

import (
	"context"
	"net"
	"os"
	"os/signal"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	"k8s.io/klog/v2"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// The first argument of a child names its component.
const (
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	// kubectl and kubelet are not children but separate programs.
	kubectl = "kubectl"
	kubelet = "kubelet"
)

// listenerFD is the file descriptor of the API server's socket. The parent opens it before it publishes the port, so
// that no other process can take the port.
const listenerFD = 3

func runAPIServer(args []string) error {
	ctx := untilInputEnds()
	socket, err := net.FileListener(os.NewFile(listenerFD, "listener"))
	if err != nil {
		return err
	}
	server := options.NewServerRunOptions()
	flags := pflag.NewFlagSet(apiServer, pflag.ContinueOnError)
	for _, set := range server.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	server.SecureServing.Listener = socket
	server.SecureServing.BindPort = socket.Addr().(*net.TCPAddr).Port
	server.SecureServing.ExternalAddress = socket.Addr().(*net.TCPAddr).IP
	if err := server.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	completed, err := server.Complete(ctx)
	if err != nil {
		return err
	}
	return apiserver.Run(ctx, completed)
}

func runControllerManager(args []string) error {
	ctx := untilInputEnds()
	go func() {
		<-ctx.Done()
		klog.Flush()
		os.Exit(0)
	}()
	command := controllers.NewControllerManagerCommand()
	command.SetArgs(args)
	return cli.RunNoErrOutput(command)
}

func runKubectl(args []string) error {
	// kubectl reads the arguments of the process, also for plugins and completions.
	os.Args = append([]string{kubectl}, args...)
	if err := cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return nil
}

// untilInputEnds returns a context that is done when the parent closes this child's standard input or dies. An interrupt
// from a terminal reaches the whole process group; only the parent acts on it and stops the children in order.
func untilInputEnds() context.Context {
	signal.Ignore(os.Interrupt)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		waitForEnd(os.Stdin)
		cancel()
	}()
	return ctx
}
