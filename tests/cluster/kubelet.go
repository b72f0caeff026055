package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/logs"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/server"
	codeexec "k8s.io/utils/exec"
)

// noImage begins the images that cannot be pulled, as in the sandbox.
const noImage = "registry.invalid/"

// echoPort is the port on which each Pod echoes what it reads. "bye" at the end of a message ends the connection.
const echoPort = 7

// writeLine is the command that writes its arguments as a line to the container's own output.
const writeLine = "write-line"

// printSize is the command that prints the first size of its terminal.
const printSize = "print-size"

// runKubelet serves one node of an existing cluster: with the HTTP server of the kubelet, and with the streaming server and the reader of
// logs that container runtimes use. Only the runtime below them is our own: the programs of a container are those of this machine, in a
// folder for each Pod, and its log begins with the line that the simulator of the sandbox writes. A Pod of the node runs at once.
func runKubelet(args []string) error {
	// klog is silent: it logs each client that leaves as an error.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	flags := flag.NewFlagSet(kubelet, flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "the cluster")
	name := flags.String("node", "", "the name of the node, which is created")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *kubeconfig == "" || *name == "" {
		return errors.New("usage: cluster kubelet --kubeconfig=<file> --node=<name> <folder>")
	}
	settings, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	settings.QPS, settings.Burst = 1000, 2000
	client, err := kubernetes.NewForConfig(settings)
	if err != nil {
		return err
	}
	ctx := untilInputEnds()
	machine := &machine{folder: flags.Arg(0), logs: map[string]*containerLog{}}
	node := &node{client: client, machine: machine}
	if err := node.listen(ctx); err != nil {
		return err
	}
	if err := node.register(ctx, *name); err != nil {
		return err
	}
	go node.runPods(ctx, *name)
	fmt.Printf("ready: %s\n", *name)
	<-ctx.Done()
	return nil
}

// node is what the HTTP server of the kubelet asks. What no client of the tests asks for is missing.
type node struct {
	server.HostInterface
	client    kubernetes.Interface
	machine   *machine
	streaming streaming.Server
	port      int32
}

func (n *node) listen(ctx context.Context) error {
	runtime, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	settings := streaming.DefaultConfig
	settings.Addr = runtime.Addr().String()
	if n.streaming, err = streaming.NewServer(settings, n.machine); err != nil {
		return err
	}
	go http.Serve(runtime, n.streaming)

	authority, err := newAuthority()
	if err != nil {
		return err
	}
	certificate, key, err := authority.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: kubelet},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	socket, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return err
	}
	n.port = int32(socket.Addr().(*net.TCPAddr).Port)
	handler := server.NewServer(ctx, n, nil, nil, nil, nil, &config.KubeletConfiguration{EnableDebuggingHandlers: true})
	go http.Serve(socket, &handler)
	return nil
}

func (n *node) register(ctx context.Context, name string) error {
	created := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	created, err := n.client.CoreV1().Nodes().Create(ctx, created, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	created.Status = v1.NodeStatus{
		Addresses:        []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "127.0.0.1"}},
		DaemonEndpoints:  v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: n.port}},
		DeclaredFeatures: []string{"ExtendWebSocketsToKubelet"},
	}
	_, err = n.client.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

// runPods writes the status of the Pods of the node: all their containers run and are ready.
func (n *node) runPods(ctx context.Context, name string) {
	pods := cache.NewListWatchFromClient(n.client.CoreV1().RESTClient(), "pods", "", fields.OneTermEqualSelector("spec.nodeName", name))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: pods, ObjectType: &v1.Pod{}, Handler: cache.ResourceEventHandlerFuncs{
		AddFunc:    func(added any) { n.sync(ctx, added.(*v1.Pod)) },
		UpdateFunc: func(_, changed any) { n.sync(ctx, changed.(*v1.Pod)) },
	}})
	informer.RunWithContext(ctx)
}

func (n *node) sync(ctx context.Context, pod *v1.Pod) {
	pods := n.client.CoreV1().Pods(pod.Namespace)
	var err error
	switch {
	case pod.DeletionTimestamp != nil:
		err = pods.Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))
	case pod.Status.Phase == v1.PodPending && pod.Status.StartTime == nil:
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			newest, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
			if err == nil && newest.Status.StartTime == nil {
				n.run(newest)
				_, err = pods.UpdateStatus(ctx, newest, metav1.UpdateOptions{})
			}
			return err
		})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		fmt.Fprintf(os.Stderr, "kubelet: %s/%s: %v\n", pod.Namespace, pod.Name, err)
	}
}

// run sets the status of a Pod whose containers run, or wait for an image.
func (n *node) run(pod *v1.Pod) {
	now := metav1.Now()
	pod.Status.StartTime = &now
	if image := pod.Spec.Containers[0].Image; strings.HasPrefix(image, noImage) {
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, Image: image,
			State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
		}}
		return
	}
	pod.Status.Phase = v1.PodRunning
	for _, kind := range []v1.PodConditionType{v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled} {
		condition := v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: now}
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
	}
	for _, container := range pod.Spec.Containers {
		id := containerID(pod, container.Name)
		n.machine.log(id).begin("simulated: container " + container.Name + " of image " + container.Image + " started")
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, v1.ContainerStatus{
			Name: container.Name, Image: container.Image, ImageID: container.Image, ContainerID: id, Ready: true, Started: new(true),
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: now}},
		})
	}
}

func containerID(pod *v1.Pod, container string) string {
	return fmt.Sprintf("tests://%s_%s/%s", pod.Namespace, pod.Name, container)
}

func (n *node) GetPodByName(namespace, name string) (*v1.Pod, bool) {
	pod, err := n.client.CoreV1().Pods(namespace).Get(context.Background(), name, metav1.GetOptions{})
	return pod, err == nil
}

// container returns the ID of a container that runs.
func (n *node) container(podFullName, name string) (string, bool) {
	pod, _ := n.podByFullName(podFullName)
	status, found := podutil.GetContainerStatus(pod.Status.ContainerStatuses, name)
	return status.ContainerID, found && status.State.Running != nil
}

func (n *node) podByFullName(full string) (*v1.Pod, bool) {
	name, namespace, _ := strings.Cut(full, "_")
	return n.GetPodByName(namespace, name)
}

func (n *node) GetExec(_ context.Context, pod string, _ types.UID, name string, command []string, streams remotecommand.Options) (*url.URL, error) {
	id, runs := n.container(pod, name)
	if !runs {
		return nil, fmt.Errorf("container not found (%q)", name)
	}
	answer, err := n.streaming.GetExec(&runtimeapi.ExecRequest{
		ContainerId: id, Cmd: command, Tty: streams.TTY, Stdin: streams.Stdin, Stdout: streams.Stdout, Stderr: streams.Stderr,
	})
	if err != nil {
		return nil, err
	}
	return url.Parse(answer.Url)
}

func (n *node) GetAttach(_ context.Context, pod string, _ types.UID, name string, streams remotecommand.Options) (*url.URL, error) {
	id, runs := n.container(pod, name)
	if !runs {
		return nil, fmt.Errorf("container %s not found in pod %s", name, pod)
	}
	answer, err := n.streaming.GetAttach(&runtimeapi.AttachRequest{
		ContainerId: id, Tty: streams.TTY, Stdin: streams.Stdin, Stdout: streams.Stdout, Stderr: streams.Stderr,
	})
	if err != nil {
		return nil, err
	}
	return url.Parse(answer.Url)
}

func (n *node) GetPortForward(_ context.Context, name, namespace string, _ types.UID, options portforward.V4Options) (*url.URL, error) {
	answer, err := n.streaming.GetPortForward(&runtimeapi.PortForwardRequest{PodSandboxId: namespace + "_" + name, Port: options.Ports})
	if err != nil {
		return nil, err
	}
	return url.Parse(answer.Url)
}

func (n *node) GetKubeletContainerLogs(ctx context.Context, pod, name string, options *v1.PodLogOptions, stdout, stderr io.Writer) error {
	found, _ := n.podByFullName(pod)
	if options.Previous {
		return fmt.Errorf("previous terminated container %q in pod %q not found", name, found.Name)
	}
	id, isRunning := n.container(pod, name)
	if !isRunning {
		return fmt.Errorf("container %q in pod %q is not available", name, found.Name)
	}
	wanted := &logs.LogOptions{
		TailLines: options.TailLines, LimitBytes: options.LimitBytes, Follow: options.Follow, Timestamp: options.Timestamps,
	}
	if options.SinceSeconds != nil {
		wanted.Since = time.Now().Add(-time.Duration(*options.SinceSeconds) * time.Second)
	}
	if options.SinceTime != nil && options.SinceTime.After(wanted.Since) {
		wanted.Since = options.SinceTime.Time
	}
	return logs.ReadLogs(ctx, n.machine.log(id).path, id, wanted, runs{}, stdout, stderr)
}

// runs tells the reader of a log that its container runs.
type runs struct{ internalapi.RuntimeService }

func (runs) ContainerStatus(context.Context, string, bool) (*runtimeapi.ContainerStatusResponse, error) {
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{State: runtimeapi.ContainerState_CONTAINER_RUNNING}}, nil
}

// machine runs the containers.
type machine struct {
	folder string
	mutex  sync.Mutex
	logs   map[string]*containerLog
}

// place returns the folder in which the programs of a Pod run.
func (m *machine) place(id string) (string, error) {
	pod, _, _ := strings.Cut(strings.TrimPrefix(id, "tests://"), "/")
	place := filepath.Join(m.folder, pod)
	return place, os.MkdirAll(place, 0o700)
}

func (m *machine) log(id string) *containerLog {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	log := m.logs[id]
	if log == nil {
		name := strings.ReplaceAll(strings.TrimPrefix(id, "tests://"), "/", "_")
		log = &containerLog{path: filepath.Join(m.folder, name+".log")}
		m.logs[id] = log
	}
	return log
}

func (m *machine) Exec(ctx context.Context, id string, command []string, in io.Reader, out, err io.WriteCloser, _ bool, sizes <-chan remotecommand.TerminalSize) error {
	if len(command) == 0 {
		return errors.New("no command")
	}
	switch command[0] {
	case writeLine:
		m.log(id).write(strings.Join(command[1:], " "))
		return nil
	case printSize:
		size := <-sizes
		_, failed := fmt.Fprintf(out, "%dx%d", size.Width, size.Height)
		return failed
	}
	return m.run(ctx, id, command, in, out, err)
}

// Attach reaches the container's own process. Each client has one of its own, a "cat".
func (m *machine) Attach(ctx context.Context, id string, in io.Reader, out, err io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	return m.run(ctx, id, []string{"cat"}, in, out, err)
}

func (m *machine) run(ctx context.Context, id string, command []string, in io.Reader, out, err io.WriteCloser) error {
	place, failed := m.place(id)
	if failed != nil {
		return failed
	}
	program := exec.CommandContext(ctx, command[0], command[1:]...)
	program.Dir = place
	// A program that ends does not wait for the end of its input.
	stdin, failed := program.StdinPipe()
	if failed != nil {
		return failed
	}
	if out != nil {
		program.Stdout = out
	}
	if err != nil {
		program.Stderr = err
	}
	if failed := program.Start(); failed != nil {
		// A runtime looks for a program with a path itself.
		if missing := (*fs.PathError)(nil); errors.As(failed, &missing) {
			failed = fmt.Errorf("exec: %q: stat %s: %w", command[0], command[0], missing.Err)
		}
		return fmt.Errorf("failed to exec in container: OCI runtime exec failed: exec failed: unable to start container process: %w", failed)
	}
	go func() {
		if in != nil {
			io.Copy(stdin, in)
		}
		stdin.Close()
	}()
	failed = program.Wait()
	if exited := (*exec.ExitError)(nil); errors.As(failed, &exited) {
		code := exited.ExitCode()
		return codeexec.CodeExitError{Err: fmt.Errorf("exit status %d", code), Code: code}
	}
	return failed
}

func (m *machine) PortForward(_ context.Context, pod string, port int32, stream io.ReadWriteCloser) error {
	if port != echoPort {
		return fmt.Errorf("failed to connect to localhost:%d: connection refused", port)
	}
	defer stream.Close()
	piece := make([]byte, 4096)
	for {
		length, err := stream.Read(piece)
		if _, failed := stream.Write(piece[:length]); failed != nil || err != nil || strings.HasSuffix(string(piece[:length]), "bye") {
			return nil
		}
	}
}

// containerLog is a file in the format of container runtimes.
type containerLog struct {
	path  string
	mutex sync.Mutex
}

// begin writes the first line, unless there is one.
func (l *containerLog) begin(line string) {
	if _, err := os.Stat(l.path); err != nil {
		l.write(line)
	}
}

func (l *containerLog) write(line string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(file, "%s stdout F %s\n", time.Now().UTC().Format(time.RFC3339Nano), line)
		err = file.Close()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "kubelet: %v\n", err)
	}
}
