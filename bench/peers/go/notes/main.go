// The smallest operator on controller-runtime, as kubebuilder lays it out, for the loop of bench/loop: one custom resource, one owned ConfigMap.
package main

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// NoteSpec is the desired state.
type NoteSpec struct {
	Text string `json:"text"`
}

// Note is a text.
type Note struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              NoteSpec `json:"spec"`
}

// NoteList is a list of Notes.
type NoteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Note `json:"items"`
}

// DeepCopyObject is what controller-gen writes.
func (in *Note) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject is what controller-gen writes.
func (in *NoteList) DeepCopyObject() runtime.Object {
	out := *in
	out.Items = nil
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopyObject().(*Note))
	}
	return &out
}

// NoteReconciler keeps a ConfigMap for each Note.
type NoteReconciler struct {
	client.Client
}

// Reconcile applies the ConfigMap.
func (r *NoteReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	note := &Note{}
	if err := r.Get(ctx, request.NamespacedName, note); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: note.Name, Namespace: note.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, page, func() error {
		page.Data = map[string]string{"text": note.Spec.Text}
		return controllerutil.SetControllerReference(note, page, r.Scheme())
	})
	return ctrl.Result{}, err
}

func run() error {
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	version := schema.GroupVersion{Group: "demo.pilothouse.dev", Version: "v1"}
	scheme.AddKnownTypes(version, &Note{}, &NoteList{})
	metav1.AddToGroupVersion(scheme, version)
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).
		For(&Note{}).
		Owns(&corev1.ConfigMap{}).
		Complete(&NoteReconciler{mgr.GetClient()})
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		ctrl.Log.Error(err, "the operator ended")
		os.Exit(1)
	}
}
