// controller-runtime's webhook server with its default settings: a validation of ConfigMaps and a mutation of Pods, typed, as its
// users write them.
//
//   - webhook.NewServer: HTTP/2, TLS 1.2 and later, the certificate from a folder (pkg/webhook/server.go).
//   - admission.WithValidator and admission.WithDefaulter. The patch is computed from both forms of the object, the default.
//   - A logger like that of its examples (zap.New), which logs errors only.
//
// webhooks <folder with tls.crt and tls.key> <port>
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type filled struct{}

func (filled) ValidateCreate(_ context.Context, object *corev1.ConfigMap) (admission.Warnings, error) {
	if len(object.Data) == 0 {
		return nil, fmt.Errorf("data: must not be empty")
	}
	return nil, nil
}

func (v filled) ValidateUpdate(ctx context.Context, _, object *corev1.ConfigMap) (admission.Warnings, error) {
	return v.ValidateCreate(ctx, object)
}

func (filled) ValidateDelete(context.Context, *corev1.ConfigMap) (admission.Warnings, error) {
	return nil, nil
}

type team struct{}

func (team) Default(_ context.Context, object *corev1.Pod) error {
	if object.Labels == nil {
		object.Labels = map[string]string{}
	}
	object.Labels["team"] = object.Namespace
	return nil
}

func main() {
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(folder, port string) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	ctrl.SetLogger(zap.New(zap.Level(zapcore.ErrorLevel)))
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: number, CertDir: folder})
	server.Register("/validate--v1-configmap", admission.WithValidator(scheme.Scheme, filled{}))
	server.Register("/mutate--v1-pod", admission.WithDefaulter(scheme.Scheme, team{}))
	return server.Start(ctrl.SetupSignalHandler())
}
