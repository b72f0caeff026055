// Command types prints details of the Go types of the sandbox's kinds that OpenAPI lacks: the names of field types, which
// appear in error messages, and the fields that Go writes even if they are not set.
//
//	go run ./types v1.36.3 | gzip -n9 > ../../sandbox/src/builtin/data/types.json.gz
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

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

var (
	roots = []any{
		corev1.ConfigMap{}, corev1.Event{}, corev1.Namespace{}, corev1.Node{}, corev1.PersistentVolumeClaim{}, corev1.Pod{},
		corev1.ReplicationController{}, corev1.Secret{}, corev1.ServiceAccount{}, corev1.Service{},
		appsv1.ControllerRevision{}, appsv1.DaemonSet{}, appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.StatefulSet{},
		autoscalingv1.Scale{}, batchv1.CronJob{}, batchv1.Job{}, coordinationv1.Lease{}, eventsv1.Event{},
		policyv1.PodDisruptionBudget{},
		rbacv1.ClusterRole{}, rbacv1.ClusterRoleBinding{}, rbacv1.Role{}, rbacv1.RoleBinding{},
		apiextensionsv1.CustomResourceDefinition{},
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
