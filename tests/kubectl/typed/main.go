// Command typed takes objects through their lives with client-go's typed clients, which send and accept protobuf:
// `typed <kubeconfig> <namespace>`.
//
// A second client reads the same objects as JSON. Both must get the same objects, so the types of Kubernetes decide whether
// the protobuf of a server says what its JSON says. It prints a line for each kind.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const protobuf = "application/vnd.kubernetes.protobuf"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// typed is what the clients of all kinds have.
type typed[T, L any] interface {
	Create(context.Context, *T, metav1.CreateOptions) (*T, error)
	Update(context.Context, *T, metav1.UpdateOptions) (*T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	Get(context.Context, string, metav1.GetOptions) (*T, error)
	List(context.Context, metav1.ListOptions) (*L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*T, error)
}

func run(arguments []string) error {
	if len(arguments) != 2 {
		return fmt.Errorf("usage: typed <kubeconfig> <namespace>")
	}
	config, err := clientcmd.BuildConfigFromFlags("", arguments[0])
	if err != nil {
		return err
	}
	config.ContentType, config.AcceptContentTypes = protobuf, protobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	reader, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}

	ns := arguments[1]
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	labels := map[string]string{"a": "b"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "a", Image: "a", Command: []string{"x", ""},
			Resources:     corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1.5")}},
			LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("web")}}},
			Ports:         []corev1.ContainerPort{{Name: "web", ContainerPort: 80}},
		}},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}}
	job := template.DeepCopy()
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	selector := &metav1.LabelSelector{MatchLabels: labels}
	now, suspended, half := metav1.NowMicro(), true, intstr.FromString("50%")
	for _, err := range []error{
		walk(client.CoreV1().ConfigMaps(ns), reader.CoreV1().ConfigMaps(ns), &corev1.ConfigMap{
			ObjectMeta: named("a"), Data: map[string]string{"b": "", "a": "é"}, BinaryData: map[string][]byte{"c": {0, 255}},
		}),
		walk(client.CoreV1().Secrets(ns), reader.CoreV1().Secrets(ns), &corev1.Secret{
			ObjectMeta: named("a"), Data: map[string][]byte{"b": {}, "a": {0, 255}}, StringData: map[string]string{"c": "d"},
		}),
		// The port is not set, and gets its default.
		walkWith(client.CoreV1().Services(ns), reader.CoreV1().Services(ns), &corev1.Service{
			ObjectMeta: named("a"), Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
		}, func(service *corev1.Service) error {
			if port := service.Spec.Ports[0].TargetPort; port.IntValue() != 80 {
				return fmt.Errorf("the target port is %v", port)
			}
			return nil
		}),
		walk(client.CoreV1().ServiceAccounts(ns), reader.CoreV1().ServiceAccounts(ns), &corev1.ServiceAccount{ObjectMeta: named("a")}),
		walk(client.AppsV1().Deployments(ns), reader.AppsV1().Deployments(ns), &appsv1.Deployment{
			ObjectMeta: named("a"), Spec: appsv1.DeploymentSpec{Selector: selector, Template: template},
		}),
		walk(client.AppsV1().StatefulSets(ns), reader.AppsV1().StatefulSets(ns), &appsv1.StatefulSet{
			ObjectMeta: named("a"), Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template},
		}),
		walk(client.BatchV1().Jobs(ns), reader.BatchV1().Jobs(ns), &batchv1.Job{
			ObjectMeta: named("a"), Spec: batchv1.JobSpec{Suspend: &suspended, Template: *job},
		}),
		walk(client.BatchV1().CronJobs(ns), reader.BatchV1().CronJobs(ns), &batchv1.CronJob{
			ObjectMeta: named("a"), Spec: batchv1.CronJobSpec{
				Schedule: "* * * * *", Suspend: &suspended, JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: *job}},
			},
		}),
		walk(client.CoordinationV1().Leases(ns), reader.CoordinationV1().Leases(ns), &coordinationv1.Lease{
			ObjectMeta: named("a"), Spec: coordinationv1.LeaseSpec{RenewTime: &now},
		}),
		walk(client.PolicyV1().PodDisruptionBudgets(ns), reader.PolicyV1().PodDisruptionBudgets(ns), &policyv1.PodDisruptionBudget{
			ObjectMeta: named("a"), Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &half, Selector: selector},
		}),
		// The group of the role is not set, and gets its default.
		walk(client.RbacV1().RoleBindings(ns), reader.RbacV1().RoleBindings(ns), &rbacv1.RoleBinding{
			ObjectMeta: named("a"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "u"}},
		}),
		requests(client, ns, selector, template),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// walk creates an object, reads, lists, watches, changes and deletes it.
func walk[T, L any](client, reader typed[T, L], object *T) error {
	return walkWith(client, reader, object, func(*T) error { return nil })
}

func walkWith[T, L any](client, reader typed[T, L], object *T, check func(*T) error) error {
	step := "created"
	wrap := func(err error) error {
		return fmt.Errorf("%T %s: %w", object, step, err)
	}
	background := context.Background()
	created, err := client.Create(background, object, metav1.CreateOptions{})
	if err != nil {
		return wrap(err)
	}
	if err := check(created); err != nil {
		return wrap(err)
	}
	step = "created again"
	if _, err := client.Create(background, object, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return wrap(fmt.Errorf("it is no conflict: %w", err))
	}
	same := func(found *T) error {
		read, err := reader.Get(background, "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !equality.Semantic.DeepEqual(found, read) {
			return fmt.Errorf("protobuf and JSON differ:\n%s\n%s", show(found), show(read))
		}
		return nil
	}
	step = "updated"
	updated, err := update(client, created)
	if err == nil {
		err = same(updated)
	}
	if err != nil {
		return wrap(err)
	}
	step = "patched"
	patch := []byte(`{"metadata": {"annotations": {"patched": "yes"}}}`)
	patched, err := client.Patch(background, "a", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err == nil {
		err = same(patched)
	}
	if err != nil {
		return wrap(err)
	}
	step = "read"
	read, err := client.Get(background, "a", metav1.GetOptions{})
	if err == nil {
		err = same(read)
	}
	if err != nil {
		return wrap(err)
	}
	step = "listed"
	options := metav1.ListOptions{FieldSelector: "metadata.name=a"}
	list, err := client.List(background, options)
	if err != nil {
		return wrap(err)
	}
	listed, err := reader.List(background, options)
	if err != nil {
		return wrap(err)
	}
	if !equality.Semantic.DeepEqual(list, listed) || meta.LenList(any(list).(runtime.Object)) != 1 {
		return wrap(fmt.Errorf("protobuf and JSON differ:\n%s\n%s", show(list), show(listed)))
	}
	step = "watched"
	events, err := client.Watch(background, options)
	if err != nil {
		return wrap(err)
	}
	defer events.Stop()
	event := <-events.ResultChan()
	first, known := event.Object.(any).(*T)
	if event.Type != watch.Added || !known {
		return wrap(fmt.Errorf("the first event is %v of %T", event.Type, event.Object))
	}
	if err := same(first); err != nil {
		return wrap(err)
	}
	step = "deleted"
	other := types.UID("other")
	stale := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}
	if err := client.Delete(background, "a", stale); !apierrors.IsConflict(err) {
		return wrap(fmt.Errorf("it is no conflict: %w", err))
	}
	policy := metav1.DeletePropagationBackground
	if err := client.Delete(background, "a", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		return wrap(err)
	}
	for event := range events.ResultChan() {
		if event.Type == watch.Deleted {
			break
		}
	}
	if _, err := client.Get(background, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return wrap(fmt.Errorf("it still exists: %w", err))
	}
	fmt.Printf("%T\n", *object)
	return nil
}

// update adds a label. A controller may change the object at the same time.
func update[T, L any](client typed[T, L], object *T) (*T, error) {
	for {
		changed, err := meta.Accessor(object)
		if err != nil {
			return nil, err
		}
		changed.SetLabels(map[string]string{"updated": "yes"})
		updated, err := client.Update(context.Background(), object, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			return updated, err
		}
		if object, err = client.Get(context.Background(), "a", metav1.GetOptions{}); err != nil {
			return nil, err
		}
	}
}

// requests sends what is a request more than an object.
func requests(client kubernetes.Interface, ns string, selector *metav1.LabelSelector, template corev1.PodTemplateSpec) error {
	background := context.Background()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "requests"}}
	if _, err := client.CoreV1().ServiceAccounts(ns).Create(background, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	token, err := client.CoreV1().ServiceAccounts(ns).CreateToken(
		background, "requests", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil || token.Status.Token == "" || token.Status.ExpirationTimestamp.IsZero() {
		return fmt.Errorf("there is no token: %w", err)
	}
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(background, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"},
		},
	}, metav1.CreateOptions{})
	if err != nil || !review.Status.Allowed {
		return fmt.Errorf("it is not allowed: %w", err)
	}
	deployments := client.AppsV1().Deployments(ns)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "requests"}, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template},
	}
	if _, err := deployments.Create(background, deployment, metav1.CreateOptions{}); err != nil {
		return err
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "requests", Namespace: ns}, Spec: autoscalingv1.ScaleSpec{Replicas: 0}}
	scale, err = deployments.UpdateScale(background, "requests", scale, metav1.UpdateOptions{})
	if err != nil || scale.Spec.Replicas != 0 || scale.Status.Selector != "a=b" {
		return fmt.Errorf("it is not scaled: %v: %w", scale, err)
	}
	groups, err := client.Discovery().ServerGroups()
	if err != nil || len(groups.Groups) == 0 {
		return fmt.Errorf("there are no groups: %w", err)
	}
	fmt.Println("requests")
	return deployments.Delete(background, "requests", metav1.DeleteOptions{})
}

func show(object any) string {
	text, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
