// Command types prints details of the Go types of the sandbox's kinds that OpenAPI lacks: the names of field types, which
// appear in error messages, and the fields that Go writes even if they are not set.
//
//	go run ./types v1.37.2 | gzip -n9 > ../../sandbox/src/builtin/data/types.json.gz
//
// It prints {"source": ..., "types": {struct: {field: type}}}. A type is one of
//
//	string, bool, int32, ...   a basic type; "=name" follows if the type has another name
//	[]type, {}type             a list and a map; the brackets contain the name of the type if it has one
//	@name                      a struct
//	#Time, #Quantity, ...      a type with its own JSON form
//
// and begins with "!" if Go writes the field even if it is not set, and with "*" if a zero value differs from no value.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var (
	roots = []any{
		corev1.Binding{}, corev1.ComponentStatus{}, corev1.ConfigMap{}, corev1.Endpoints{}, corev1.Event{}, corev1.LimitRange{},
		corev1.Namespace{}, corev1.Node{}, corev1.PersistentVolume{}, corev1.PersistentVolumeClaim{}, corev1.Pod{},
		corev1.PodTemplate{}, corev1.ReplicationController{}, corev1.ResourceQuota{}, corev1.Secret{}, corev1.ServiceAccount{},
		corev1.Service{},
		admissionv1.MutatingAdmissionPolicy{}, admissionv1.MutatingAdmissionPolicyBinding{},
		admissionv1.MutatingWebhookConfiguration{}, admissionv1.ValidatingAdmissionPolicy{},
		admissionv1.ValidatingAdmissionPolicyBinding{}, admissionv1.ValidatingWebhookConfiguration{},
		apiextensionsv1.CustomResourceDefinition{}, apiregistrationv1.APIService{},
		appsv1.ControllerRevision{}, appsv1.DaemonSet{}, appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.StatefulSet{},
		authenticationv1.SelfSubjectReview{}, authenticationv1.TokenRequest{}, authenticationv1.TokenReview{},
		authorizationv1.LocalSubjectAccessReview{}, authorizationv1.SelfSubjectAccessReview{},
		authorizationv1.SelfSubjectRulesReview{}, authorizationv1.SubjectAccessReview{},
		autoscalingv1.HorizontalPodAutoscaler{}, autoscalingv1.Scale{}, autoscalingv2.HorizontalPodAutoscaler{},
		batchv1.CronJob{}, batchv1.Job{}, certificatesv1.CertificateSigningRequest{}, certificatesv1.ClusterTrustBundle{},
		certificatesv1.PodCertificateRequest{}, coordinationv1.Lease{},
		discoveryv1.EndpointSlice{}, eventsv1.Event{}, flowcontrolv1.FlowSchema{}, flowcontrolv1.PriorityLevelConfiguration{},
		networkingv1.IPAddress{}, networkingv1.Ingress{}, networkingv1.IngressClass{}, networkingv1.NetworkPolicy{},
		networkingv1.ServiceCIDR{}, nodev1.RuntimeClass{}, policyv1.Eviction{}, policyv1.PodDisruptionBudget{},
		rbacv1.ClusterRole{}, rbacv1.ClusterRoleBinding{}, rbacv1.Role{}, rbacv1.RoleBinding{},
		resourcev1.DeviceClass{}, resourcev1.DeviceTaintRule{}, resourcev1.ResourceClaim{},
		resourcev1.ResourceClaimTemplate{}, resourcev1.ResourceSlice{},
		schedulingv1.PriorityClass{}, storagev1.CSIDriver{}, storagev1.CSINode{}, storagev1.CSIStorageCapacity{},
		storagev1.StorageClass{}, storagev1.VolumeAttachment{}, storagev1.VolumeAttributesClass{},
		storagemigrationv1.StorageVersionMigration{},
	}
	marshaler = reflect.TypeFor[json.Marshaler]()
	types     = map[string]map[string]string{}
)

func main() {
	for _, root := range roots {
		of(reflect.TypeOf(root))
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]any{"source": "k8s.io/kubernetes " + os.Args[1], "types": types}); err != nil {
		panic(err)
	}
}

func of(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return of(t.Elem())
	}
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return "#" + t.Name()
	}
	switch t.Kind() {
	case reflect.Struct:
		return "@" + record(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[" + unusual(t, "[]") + "]" + of(t.Elem())
	case reflect.Map:
		return "{" + unusual(t, "map[string]") + "}" + of(t.Elem())
	}
	if name := t.String(); name != t.Kind().String() {
		return t.Kind().String() + "=" + name
	}
	return t.Kind().String()
}

func unusual(t reflect.Type, prefix string) string {
	if t.String() == prefix+t.Elem().String() {
		return ""
	}
	return strings.NewReplacer("[", "(", "]", ")").Replace(t.String())
}

// A struct has the name of its definition in OpenAPI.
func record(t reflect.Type) string {
	name := "io." + strings.ReplaceAll(strings.Replace(t.PkgPath(), "k8s.io/", "k8s.", 1), "/", ".") + "." + t.Name()
	if types[name] == nil {
		fields := map[string]string{}
		types[name] = fields
		add(t, fields)
	}
	return name
}

func add(t reflect.Type, fields map[string]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			add(field.Type, fields)
			continue
		}
		if name == "-" {
			continue
		}
		if name == "" {
			panic(fmt.Sprintf("%v.%s has no name", t, field.Name))
		}
		kind := field.Type.Kind()
		omitted := strings.Contains(options, "omitempty") && kind != reflect.Struct || strings.Contains(options, "omitzero")
		prefix := ""
		if !omitted {
			prefix = "!"
		}
		if kind == reflect.Pointer {
			prefix += "*"
		}
		fields[name] = prefix + of(field.Type)
	}
}
