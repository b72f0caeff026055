// Command protobuf prints the table by which the sandbox reads and writes Kubernetes protobuf, and by which the client reads it: the fields of every message of
// k8s.io/api, apimachinery, apiextensions-apiserver and kube-aggregator, with their numbers and their JSON names.
//
//	go run ./protobuf v1.37.2 | gzip -n9 > ../../sandbox/src/builtin/data/protobuf.json.gz
//
// The client's table is of the newest release of k8s-openapi, so that no field of its types is lost. It also has what older releases have and the newest
// one lacks, for older servers. Run this program in a module that requires k8s.io/api, apimachinery, apiextensions-apiserver, client-go and
// kube-aggregator of each release, with the older tables as further arguments of the newest one:
//
//	go run . v1.37.2 v1.36.json v1.35.json v1.34.json v1.33.json > all.json
//	go run . --client all.json > framework/src/client/codec/protobuf/messages.txt
//
// The generated.proto files lack the JSON names, and what Go writes when a field is not set. Both are in the tags of the Go
// types, which also have the numbers.
//
// It prints {"source": ..., "kinds": {apiVersion/kind: message}, "messages": {message: {field: text}}}. A text is the number
// of the field, and then
//
//	!    if JSON has the field even if it is not set
//	*    if a zero value differs from no value
//	^    if JSON has the fields of the inner message in its place
//
// and then the type:
//
//	string, bool, int32, int64, double, bytes
//	[]type, {}type       a list, and a map from strings
//	@name                a message
//	#Time@name, ...      a type with a JSON form of its own, and its message
//
// and then "=Name" if the name of the field in Go is not the JSON name with a capital letter.
//
// The client's form of the same table can be used without being unpacked, message by message. It has lines: the source; for each kind
// "apiVersion/kind message"; an empty one; and for each message its fields, in the order of their numbers, as "field:text" with spaces
// between. A message is the number of its line, from 0, and there are no names in Go.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apidiscoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
)

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

var (
	messageType   = reflect.TypeFor[message]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	kinds         = map[string]string{}
	messages      = map[string]map[string]string{}
	// The types with a JSON form of their own that the sandbox knows.
	special = []string{
		"Time", "MicroTime", "Quantity", "IntOrString", "RawExtension", "FieldsV1", "JSON",
		"JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray",
	}
)

func main() {
	if os.Args[1] == "--client" {
		printForClient(read(os.Args[2]))
		return
	}
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme,
		admissionv1.AddToScheme, admissionv1beta1.AddToScheme, imagepolicyv1alpha1.AddToScheme,
		apidiscoveryv2.AddToScheme, apidiscoveryv2beta1.AddToScheme,
		apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme,
		apiregistrationv1.AddToScheme, apiregistrationv1beta1.AddToScheme,
		metav1.AddMetaToScheme, metav1beta1.AddMetaToScheme,
	} {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	metav1.AddToGroupVersion(all, metav1.SchemeGroupVersion)
	for kind, t := range all.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal && isMessage(t) {
			kinds[kind.GroupVersion().String()+"/"+kind.Kind] = of(t)[1:]
		}
	}
	// The envelope.
	record(reflect.TypeFor[runtime.Unknown]())
	for _, older := range os.Args[2:] {
		keep(older)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(table{"k8s.io/kubernetes " + os.Args[1], kinds, messages}); err != nil {
		panic(err)
	}
}

type table struct {
	Source   string                       `json:"source"`
	Kinds    map[string]string            `json:"kinds"`
	Messages map[string]map[string]string `json:"messages"`
}

func read(path string) (read table) {
	file, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(file, &read); err != nil {
		panic(err)
	}
	return read
}

func printForClient(all table) {
	fmt.Println(all.Source)
	lines := map[string]int{}
	names := slices.Sorted(maps.Keys(all.Messages))
	for line, name := range names {
		lines[name] = line
	}
	for _, kind := range slices.Sorted(maps.Keys(all.Kinds)) {
		fmt.Println(kind, lines[all.Kinds[kind]])
	}
	fmt.Println()
	for _, name := range names {
		fields := slices.Collect(maps.Keys(all.Messages[name]))
		slices.SortFunc(fields, func(one, other string) int {
			return number(all.Messages[name][one]) - number(all.Messages[name][other])
		})
		for i, field := range fields {
			text, _, _ := strings.Cut(all.Messages[name][field], "=")
			if kind, message, found := strings.Cut(text, "@"); found {
				text = fmt.Sprintf("%s@%d", kind, lines[message])
			}
			fields[i] = field + ":" + text
		}
		fmt.Println(strings.Join(fields, " "))
	}
}

// The number with which a text begins.
func number(text string) (number int) {
	fmt.Sscan(text, &number)
	return number
}

// Adds what an older table has and this one lacks. The number of a field is never used again. A newer release does not write
// the field, so it is only there if it is set.
func keep(path string) {
	older := read(path)
	for kind, message := range older.Kinds {
		if _, has := kinds[kind]; !has {
			kinds[kind] = message
		}
	}
	for name, fields := range older.Messages {
		known := messages[name] != nil
		if !known {
			messages[name] = map[string]string{}
		}
		for field, text := range fields {
			if _, has := messages[name][field]; !has {
				if known {
					text = strings.Replace(text, "!", "", 1)
				}
				messages[name][field] = text
			}
		}
	}
}

func isMessage(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(messageType)
}

func of(t reflect.Type) string {
	if t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType) {
		if !slices.Contains(special, t.Name()) {
			panic(fmt.Sprintf("%v has an unknown JSON form", t))
		}
		return "#" + t.Name() + "@" + unmarked(t)
	}
	switch t.Kind() {
	case reflect.Struct:
		return "@" + record(t)
	case reflect.Slice:
		switch {
		case isMessage(t) && t.Elem().Kind() == reflect.String:
			return "#Items@" + unmarked(t)
		case isMessage(t):
			panic(fmt.Sprintf("%v is a list and a message", t))
		case t.Elem().Kind() == reflect.Uint8:
			return "bytes"
		}
		return "[]" + of(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("%v has keys of another type", t))
		}
		return "{}" + of(t.Elem())
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return t.Kind().String()
	case reflect.Float64:
		return "double"
	}
	panic(fmt.Sprintf("%v has no form in protobuf", t))
}

// The message of a type whose fields have no tags, or of another type.
func unmarked(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[metav1.Time](), t == reflect.TypeFor[metav1.MicroTime]():
		return record(reflect.TypeFor[metav1.Timestamp]())
	case t == reflect.TypeFor[resource.Quantity]():
		messages[name(t)] = map[string]string{"string": "1!string=String_"}
	case t.Kind() == reflect.Slice:
		messages[name(t)] = map[string]string{"items": "1[]string"}
	default:
		return record(t)
	}
	return name(t)
}

// A message has the name of its definition in OpenAPI.
func name(t reflect.Type) string {
	return "io." + strings.ReplaceAll(strings.Replace(t.PkgPath(), "k8s.io/", "k8s.", 1), "/", ".") + "." + t.Name()
}

func record(t reflect.Type) string {
	name := name(t)
	if messages[name] == nil {
		messages[name] = map[string]string{}
		for i := range t.NumField() {
			add(messages[name], t, t.Field(i))
		}
	}
	return name
}

func add(fields map[string]string, within reflect.Type, field reflect.StructField) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	tag := strings.Split(field.Tag.Get("protobuf"), ",")
	if tag[0] == "" || tag[0] == "-" {
		// The names of API and kind of an object are in the envelope.
		if field.Type != reflect.TypeFor[metav1.TypeMeta]() && name != "-" && field.Name != "Object" {
			panic(fmt.Sprintf("%v.%s has no number", within, field.Name))
		}
		return
	}
	if (name == "" || name == "-") && !field.Anonymous {
		// A field of a type with a JSON form of its own.
		name = strings.TrimPrefix(tag[3], "name=")
		name = strings.ToLower(name[:1]) + name[1:]
	}
	text, kind := tag[1], field.Type.Kind()
	if kind == reflect.Pointer {
		text += "*"
		field.Type = field.Type.Elem()
	}
	switch {
	case field.Anonymous && name == "" && kind == reflect.Struct:
		name = field.Name
		text += "^"
	case strings.Contains(options, "omitzero") || strings.Contains(options, "omitempty") && kind != reflect.Struct:
	default:
		text += "!"
	}
	text += of(field.Type)
	if field.Name != strings.ToUpper(name[:1])+name[1:] {
		text += "=" + field.Name
	}
	if fields[name] != "" {
		panic(fmt.Sprintf("%v.%s has a name that occurs twice", within, field.Name))
	}
	fields[name] = text
}
