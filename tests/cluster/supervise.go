package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

const (
	// The time limit until all components answer.
	startPatience = 3 * time.Minute
	// The time after which a child that does not end is killed.
	endPatience = 3 * time.Second
)

// The controllers whose work an operator or its user can see.
const watchedControllers = "garbage-collector-controller,namespace-controller,serviceaccount-controller," +
	"serviceaccount-token-controller,root-ca-certificate-publisher-controller," +
	"deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,job-controller," +
	"cronjob-controller,ttl-after-finished-controller,pod-garbage-collector-controller," +
	"disruption-controller,resourcequota-controller,clusterrole-aggregation-controller,storage-version-migrator-controller"

// auditPolicy logs each request without its bodies.
const auditPolicy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"

func supervise(folder, controllers, gates, admission, services string, audit bool) (err error) {
	ended := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		waitForEnd(os.Stdin)
		close(ended)
	}()

	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	folder, err = filepath.Abs(folder)
	if err != nil {
		return err
	}
	state, err := os.MkdirTemp(folder, "state-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(state)) }()
	in := func(name string) string { return filepath.Join(state, name) }

	store, err := startEtcd(in("etcd"))
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer store.Close()

	socket, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	defer socket.Close()
	server := "https://" + socket.Addr().String()
	identity, err := writeIdentity(state, server)
	if err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	file, err := socket.File()
	if err != nil {
		return err
	}
	defer file.Close()

	arguments := []string{
		"--bind-address=127.0.0.1",
		"--etcd-servers=http://" + store.Clients[0].Addr().String(),
		"--endpoint-reconciler-type=none",
		"--authorization-mode=RBAC",
		"--client-ca-file=" + in("ca.crt"),
		"--tls-cert-file=" + in("server.crt"),
		"--tls-private-key-file=" + in("server.key"),
		"--token-auth-file=" + in("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + in("service-accounts.key"),
		"--service-account-signing-key-file=" + in("service-accounts.key"),
		"--service-cluster-ip-range=" + services,
		"--allow-privileged=true",
		"--feature-gates=" + gates,
		"--enable-admission-plugins=" + admission,
	}
	if audit {
		if err := os.WriteFile(in("audit-policy.yaml"), []byte(auditPolicy), 0o600); err != nil {
			return err
		}
		log := filepath.Join(folder, "audit.log")
		defer os.Remove(log)
		arguments = append(arguments, "--audit-policy-file="+in("audit-policy.yaml"), "--audit-log-path="+log)
	}
	api, err := startChild(in("kube-apiserver.log"), []*os.File{file}, apiServer, arguments...)
	if err != nil {
		return err
	}
	defer api.end()
	// The children hold the socket now. Close the parent's copy, so that no connection waits there unanswered.
	file.Close()
	socket.Close()
	if err := untilReady(server, identity, "/readyz", api, ended, signals); err != nil {
		return err
	}

	manager, err := startChild(in("kube-controller-manager.log"), nil, controllerManager,
		"--kubeconfig="+in("kubeconfig"),
		"--controllers="+controllers,
		"--leader-elect=false",
		"--secure-port=0",
		"--root-ca-file="+in("ca.crt"),
		"--service-account-private-key-file="+in("service-accounts.key"),
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	)
	if err != nil {
		return err
	}
	defer manager.end()
	if strings.Contains(controllers, "serviceaccount-controller") {
		// The default service account is the first visible work of a controller. Without it no Pod is admitted.
		account := "/api/v1/namespaces/default/serviceaccounts/default"
		if err := untilReady(server, identity, account, manager, ended, signals); err != nil {
			return err
		}
	}

	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(kubeconfig, identity.kubeconfig, 0o600); err != nil {
		return err
	}
	defer os.Remove(kubeconfig)
	fmt.Printf("ready: %s\n", kubeconfig)

	select {
	case <-ended:
	case <-signals:
	case <-api.done:
		return api.failure()
	case <-manager.done:
		return manager.failure()
	}
	return nil
}

func startEtcd(folder string) (*embed.Etcd, error) {
	anyPort := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config := embed.NewConfig()
	config.Dir = folder
	config.ListenClientUrls = []url.URL{anyPort}
	config.AdvertiseClientUrls = []url.URL{anyPort}
	config.ListenPeerUrls = []url.URL{anyPort}
	config.AdvertisePeerUrls = []url.URL{anyPort}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	// etcd logs its normal end as an error. Real errors are returned.
	config.LogLevel = "panic"
	config.EnableGRPCGateway = false
	// No data has to survive the process.
	config.UnsafeNoFsync = true
	store, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-store.Server.ReadyNotify():
		return store, nil
	case err := <-store.Err():
		return nil, err
	case <-time.After(startPatience):
		store.Close()
		return nil, errors.New("etcd was not ready in time")
	}
}

// untilReady requests path until the server answers with 200.
func untilReady(server string, admin identity, path string, child *child, ended <-chan struct{}, signals <-chan os.Signal) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(admin.ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{admin.client}}}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: 5 * time.Second}
	late := time.After(startPatience)
	for {
		if answer, err := client.Get(server + path); err == nil {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-child.done:
			return child.failure()
		case <-ended:
			return errors.New("ended before it was ready")
		case <-signals:
			return errors.New("ended before it was ready")
		case <-late:
			return fmt.Errorf("%s was not answered in time: %w", path, child.failure())
		}
	}
}

// child is a running component.
type child struct {
	name    string
	log     string
	command *exec.Cmd
	input   io.Closer
	done    chan struct{}
	err     error
}

func startChild(log string, files []*os.File, name string, args ...string) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	output, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	command := exec.Command(program, append([]string{name}, args...)...)
	command.Stdout, command.Stderr = output, output
	command.ExtraFiles = files
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	child := &child{name: name, log: log, command: command, input: input, done: make(chan struct{})}
	go func() {
		child.err = command.Wait()
		close(child.done)
	}()
	return child, nil
}

// end closes the child's input, and kills it when that is not enough.
func (c *child) end() {
	c.input.Close()
	select {
	case <-c.done:
	case <-time.After(endPatience):
		c.command.Process.Kill()
		<-c.done
	}
}

// failure returns the reason why a child does not run, with the end of its log.
func (c *child) failure() error {
	const shown = 4096
	log, _ := os.ReadFile(c.log)
	if len(log) > shown {
		log = log[len(log)-shown:]
	}
	select {
	case <-c.done:
		return fmt.Errorf("%s ended (%v):\n%s", c.name, c.err, log)
	default:
		return fmt.Errorf("%s:\n%s", c.name, log)
	}
}

// waitForEnd returns when input has ended.
func waitForEnd(input io.Reader) {
	io.Copy(io.Discard, input)
}
