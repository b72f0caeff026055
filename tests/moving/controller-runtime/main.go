// Package main is an operator for boards.
// +groupName=boards.example.com
// +versionName=v1
package main

import (
	"context"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlscheme "sigs.k8s.io/controller-runtime/pkg/scheme"
)

// BoardSpec is what the user wants.
// +kubebuilder:object:generate=true
type BoardSpec struct {
	// Text is the text on the board.
	Text string `json:"text"`
	// Replicas is the number of Pods that show it.
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
}

// BoardStatus is what is there.
// +kubebuilder:object:generate=true
type BoardStatus struct {
	// Ready is the number of Pods that are ready.
	Ready int32 `json:"ready"`
}

// Board is a notice board.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Ready,type=integer,JSONPath=.status.ready
type Board struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BoardSpec   `json:"spec"`
	Status            BoardStatus `json:"status,omitempty"`
}

// BoardList is a list of boards.
// +kubebuilder:object:root=true
type BoardList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Board `json:"items"`
}

const directoryFinalizer = "boards.example.com/directory"

// BoardReconciler reconciles boards.
type BoardReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// +kubebuilder:rbac:groups=boards.example.com,resources=boards,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=boards.example.com,resources=boards/status,verbs=update
// +kubebuilder:rbac:groups=boards.example.com,resources=boards/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update

// Reconcile brings the children, the directory and the status of a board up to date.
func (r *BoardReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var board Board
	if err := r.Get(ctx, req.NamespacedName, &board); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !board.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(&board, directoryFinalizer) {
			return ctrl.Result{}, nil
		}
		if err := r.list(ctx, &board, nil); err != nil {
			return ctrl.Result{}, err
		}
		controllerutil.RemoveFinalizer(&board, directoryFinalizer)
		return ctrl.Result{}, r.Update(ctx, &board)
	}
	if controllerutil.AddFinalizer(&board, directoryFinalizer) {
		if err := r.Update(ctx, &board); err != nil {
			return ctrl.Result{}, err
		}
	}

	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: board.Name + "-page", Namespace: board.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, page, func() error {
		page.Data = map[string]string{"index.html": board.Spec.Text}
		return controllerutil.SetControllerReference(&board, page, r.Scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: board.Name, Namespace: board.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, web, func() error {
		web.Spec = deploymentSpec(&board)
		return controllerutil.SetControllerReference(&board, web, r.Scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.list(ctx, &board, &board.Spec.Text); err != nil {
		return ctrl.Result{}, err
	}
	if board.Status.Ready != web.Status.ReadyReplicas {
		board.Status.Ready = web.Status.ReadyReplicas
		return ctrl.Result{}, r.Status().Update(ctx, &board)
	}
	return ctrl.Result{}, nil
}

func deploymentSpec(board *Board) appsv1.DeploymentSpec {
	labels := map[string]string{"board": board.Name}
	return appsv1.DeploymentSpec{
		Replicas: board.Spec.Replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{
					Name:  "server",
					Image: "nginx:1.29-alpine",
					VolumeMounts: []corev1.VolumeMount{{
						Name:      "page",
						MountPath: "/usr/share/nginx/html",
					}},
				}},
				Volumes: []corev1.Volume{{
					Name: "page",
					VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
						LocalObjectReference: corev1.LocalObjectReference{Name: board.Name + "-page"},
					}},
				}},
			},
		},
	}
}

// list writes the text of a board into the directory of its namespace, or removes it.
func (r *BoardReconciler) list(ctx context.Context, board *Board, text *string) error {
	var directory corev1.ConfigMap
	key := types.NamespacedName{Namespace: board.Namespace, Name: "directory"}
	if err := r.Get(ctx, key, &directory); err != nil {
		return err
	}
	before := directory.DeepCopy()
	if text == nil {
		delete(directory.Data, board.Name)
	} else {
		if directory.Data == nil {
			directory.Data = map[string]string{}
		}
		directory.Data[board.Name] = *text
	}
	if equality.Semantic.DeepEqual(before.Data, directory.Data) {
		return nil
	}
	return r.Update(ctx, &directory)
}

// SetupWithManager registers the controller.
func (r *BoardReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&Board{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&appsv1.Deployment{}).
		Complete(r)
}

func main() {
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	group := &ctrlscheme.Builder{GroupVersion: schema.GroupVersion{Group: "boards.example.com", Version: "v1"}}
	utilruntime.Must(group.Register(&Board{}, &BoardList{}).AddToScheme(scheme))

	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		LeaderElection:          true,
		LeaderElectionID:        "5a1f3c.example.com",
		LeaderElectionNamespace: os.Getenv("POD_NAMESPACE"),
	})
	utilruntime.Must(err)
	reconciler := &BoardReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme()}
	utilruntime.Must(reconciler.SetupWithManager(mgr))
	utilruntime.Must(mgr.Start(ctrl.SetupSignalHandler()))
}
