// Command columns prints what Kubernetes says about the columns of the tables of its kinds.
//
//	go run ./columns v1.37.2 | gzip -n9 > ../../sandbox/src/builtin/data/columns.json.gz
//
// It prints {"source": ..., "columns": {kind: {column: description}}}. A kind is the name of its Go type with its group, as in
// `apps/Deployment`. The columns of the empty kind are those of kinds without a printer.
package main

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	definitions "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiservices "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/printers/internalversion"
)

type recorder map[string]map[string]string

// TableHandler gets a function whose first parameter is a pointer to the type of an object or of a list.
func (r recorder) TableHandler(columns []metav1.TableColumnDefinition, print any) error {
	object := reflect.TypeOf(print).In(0).Elem()
	if _, isList := object.FieldByName("Items"); !isList {
		r.add(path.Base(object.PkgPath())+"/"+object.Name(), columns)
	}
	return nil
}

func (r recorder) add(kind string, columns []metav1.TableColumnDefinition) {
	texts := map[string]string{}
	for _, column := range columns {
		texts[column.Name] = column.Description
	}
	r[kind] = texts
}

func main() {
	columns := recorder{}
	internalversion.AddHandlers(columns)
	table, err := (&apiservices.REST{}).ConvertToTable(context.Background(), &apiregistration.APIServiceList{}, &metav1.TableOptions{})
	if err != nil {
		panic(err)
	}
	columns.add("apiregistration/APIService", table.ColumnDefinitions)
	table, err = definitions.New().ConvertToTable(context.Background(), &apiextensions.CustomResourceDefinitionList{}, nil)
	if err != nil {
		panic(err)
	}
	columns.add("apiextensions/CustomResourceDefinition", table.ColumnDefinitions)
	metadata := metav1.ObjectMeta{}.SwaggerDoc()
	created := metadata["creationTimestamp"]
	columns[""] = map[string]string{"Name": metadata["name"], "Age": created, "Created At": created}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]any{"source": "k8s.io/kubernetes " + os.Args[1], "columns": columns}); err != nil {
		panic(err)
	}
}
