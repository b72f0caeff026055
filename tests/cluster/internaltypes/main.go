// Command internaltypes prints the internal Go types of Kubernetes, in which kube-apiserver shows values in some errors: the
// names of their fields in JSON, in their order, and the names that the same fields have in the API.
//
//	go run ./internaltypes v1.37.2 | gzip -n9 > ../../sandbox/src/builtin/data/internal.json.gz
//
// It prints {"source": ..., "types": {struct: [[shown name, name in the API, type], ...]}}. A struct is named after its group
// and itself. A type is one of
//
//	string, bool, int   a basic type
//	[]type, {}type      a list and a map
//	@name               a struct
//	#Quantity, ...      a type with a JSON form of its own
//
// and begins with "*" if no value is shown as null, and with "?" if no value is left out.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"unicode"

	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/apis/rbac"
	"k8s.io/kubernetes/pkg/apis/resource"
	"k8s.io/kubernetes/pkg/apis/storage"
	"k8s.io/kubernetes/pkg/apis/storagemigration"
)

var (
	roots = []any{
		core.PodSpec{}, core.PodTemplateSpec{}, core.PersistentVolumeClaim{}, core.PersistentVolumeSource{},
		core.VolumeNodeAffinity{}, core.ServicePort{}, core.Taint{}, core.NodeAddress{},
		apps.DeploymentStrategy{}, apps.DaemonSetUpdateStrategy{}, apps.StatefulSetUpdateStrategy{},
		batch.PodFailurePolicy{}, batch.SuccessPolicy{}, batch.UncountedTerminatedPods{},
		networking.ParentReference{}, policy.PodDisruptionBudgetSpec{}, rbac.RoleRef{},
		resource.ResourceClaimSpec{}, resource.ResourceClaimTemplateSpec{}, resource.ResourceSliceSpec{},
		storage.VolumeAttachmentSpec{}, storage.CSINodeDriver{},
		certificates.PodCertificateRequestSpec{}, storagemigration.StorageVersionMigrationSpec{},
	}
	// What has another name in the API.
	renamed = map[string]string{
		"PodSpec.DeprecatedServiceAccount":    "serviceAccount",
		"GlusterfsVolumeSource.EndpointsName": "endpoints", "GlusterfsPersistentVolumeSource.EndpointsName": "endpoints",
		"RBDVolumeSource.CephMonitors": "monitors", "RBDVolumeSource.RBDImage": "image", "RBDVolumeSource.RBDPool": "pool",
		"RBDVolumeSource.RadosUser": "user", "RBDPersistentVolumeSource.CephMonitors": "monitors",
		"RBDPersistentVolumeSource.RBDImage": "image", "RBDPersistentVolumeSource.RBDPool": "pool",
		"RBDPersistentVolumeSource.RadosUser": "user", "ISCSIVolumeSource.DiscoveryCHAPAuth": "chapAuthDiscovery",
		"ISCSIVolumeSource.SessionCHAPAuth": "chapAuthSession", "ISCSIPersistentVolumeSource.DiscoveryCHAPAuth": "chapAuthDiscovery",
		"ISCSIPersistentVolumeSource.SessionCHAPAuth": "chapAuthSession", "AzureDiskVolumeSource.DataDiskURI": "diskURI",
	}
	marshaler = reflect.TypeFor[json.Marshaler]()
	types     = map[string][][3]string{}
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
		return "*" + strings.TrimPrefix(of(t.Elem()), "*")
	}
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return "#" + t.Name()
	}
	switch t.Kind() {
	case reflect.Struct:
		return "@" + record(t)
	case reflect.Slice:
		return "[]" + of(t.Elem())
	case reflect.Map:
		return "{}" + of(t.Elem())
	case reflect.String, reflect.Bool:
		return t.Kind().String()
	case reflect.Interface:
		return "#Any"
	}
	return "int"
}

func record(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	name := path[len(path)-1] + "." + t.Name()
	if _, known := types[name]; !known {
		types[name] = nil
		types[name] = fields(t)
	}
	return name
}

func fields(t reflect.Type) [][3]string {
	all := [][3]string{}
	for i := range t.NumField() {
		field := t.Field(i)
		shown, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && shown == "" {
			all = append(all, fields(field.Type)...)
			continue
		}
		if shown == "-" {
			continue
		}
		kind, name := of(field.Type), shown
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			kind = "?" + kind
		}
		if shown == "" {
			shown, name = field.Name, lower(field.Name)
		}
		if other, has := renamed[t.Name()+"."+field.Name]; has {
			name = other
		}
		all = append(all, [3]string{shown, name, kind})
	}
	return all
}

// lower turns the name of a Go field into that of the API: PodIP, FSType and TTY into podIP, fsType and tty.
func lower(name string) string {
	letters := []rune(name)
	for i := range letters {
		if i > 0 && (!unicode.IsUpper(letters[i]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
			break
		}
		letters[i] = unicode.ToLower(letters[i])
	}
	return string(letters)
}
