use std::fs;

use pilothouse::prelude::*;
use serde_json::json;

use super::{cargo_pilothouse, is_kept, kept, kept::bookcase, package, stderr, stdout};

fn import(more: &str) -> String {
    format!("import {} {more}", kept("bookcases.yaml").display())
}

#[test]
fn the_types_of_a_definition_are_written_once() {
    let package = package(&[
        ("src/lib.rs", "//! Mine.\n\nmod own;\n"),
        ("src/own.rs", "//! Own.\n"),
    ]);
    let folder = package.path();
    let said = stdout(&cargo_pilothouse(folder, &import("")));
    let expected = "wrote src/bookcase.rs\nchanged src/lib.rs\nThe types need serde: cargo add serde --features derive\nThe types need serde_json: cargo add serde_json\n";
    assert_eq!(said, expected);
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    assert_eq!(
        read("src/lib.rs"),
        "//! Mine.\n\npub mod bookcase;\nmod own;\n"
    );
    is_kept(&read("src/bookcase.rs"), "bookcase.rs");
    assert_eq!(
        stdout(&cargo_pilothouse(folder, &import("--print"))),
        read("src/bookcase.rs")
    );

    // The user's changes stay.
    fs::write(folder.join("src/bookcase.rs"), "// mine\n").unwrap();
    let said = stderr(&cargo_pilothouse(folder, &import("")));
    assert!(
        said.contains("bookcase.rs exists already, and stays as it is"),
        "{said}"
    );
    assert_eq!(read("src/bookcase.rs"), "// mine\n");
}

#[test]
fn the_operators_own_kind_has_the_schema_of_the_definition() {
    let folder = tempfile::tempdir().unwrap();
    let own = stdout(&cargo_pilothouse(folder.path(), &import("--own --print")));
    for part in [
        "short_names(\"bc\")",
        "#[schema(column(name = \"Room\", json_path = \".spec.room\", type = \"string\"))]",
        "#[schema(rule(\"self.boards.size() > 0\", \"a bookcase has a board\"))]",
        "#[schema(min_length = 1, selectable)]",
        "#[schema(minimum = 0, maximum = 9, scale = \"spec\")]",
        "#[schemars(extend(\"default\" = 1))]",
        "#[schema(max_items = 20, list_type = \"map\", list_map_keys(\"name\"))]",
        "#[schema(exclusive_minimum = 0.0)]",
        "#[derive(Schema, Clone, Debug",
    ] {
        assert!(own.contains(part), "{part}: {own}");
    }
    assert!(!own.contains("foreign"), "{own}");
}

#[test]
fn comments_name_fields_as_the_definition_does() {
    let folder = tempfile::tempdir().unwrap();
    let plot = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let bed = json!({"type": "object", "properties": {"plots": {"type": "array", "items": plot}}});
    // The same type again, on a shorter way.
    let spec = json!({"type": "object", "properties": {
        "beds": {"type": "array", "items": bed},
        "plots": {"type": "object", "additionalProperties": plot},
    }});
    let status = json!({"type": "object", "properties": {
        "conditions": {"type": "array", "items": {"type": "object", "properties": {
            "type": {"type": "string"}, "level": {"type": "string", "enum": ["Low", "High"]},
        }}},
    }});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gardens.a.dev"},
        "spec": {
            "group": "a.dev", "scope": "Cluster", "names": {"kind": "Garden", "plural": "gardens"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
            }],
        },
    });
    fs::write(folder.path().join("garden.json"), definition.to_string()).unwrap();
    let text = stdout(&cargo_pilothouse(
        folder.path(),
        "import garden.json --print",
    ));
    let comments = text
        .lines()
        .filter(|line| line.starts_with("/// ") && line.contains('`'));
    let mut comments: Vec<&str> = comments.collect();
    comments.sort_unstable();
    let expected = [
        "/// A value in `spec.beds`.",
        "/// A value in `spec.plots`.",
        "/// A value in `status.conditions`.",
        "/// The value of `spec`.",
        "/// The value of `status.conditions.level`.",
        "/// The value of `status`.",
    ];
    assert_eq!(comments, expected, "{text}");
}

#[test]
fn bounds_of_numbers_or_texts_and_of_the_values_in_lists_and_maps_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let name = json!({"type": "string", "minLength": 1, "pattern": "^[a-z]+$",
        "x-kubernetes-validations": [{"rule": "self != 'x'", "message": "x is taken"}]});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "tents.a.dev"},
        "spec": {
            "group": "a.dev", "scope": "Cluster", "names": {"kind": "Tent", "plural": "tents"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "surge": {"x-kubernetes-int-or-string": true, "anyOf": either, "minimum": 1, "maxLength": 5, "pattern": "^[0-9]+%$"},
                        "memory": {"x-kubernetes-int-or-string": true, "anyOf": either, "pattern": "^[0-9]+([KMGTPE]i)?$"},
                        "hosts": {"type": "array", "maxItems": 4, "items": name},
                        "limits": {"type": "object", "additionalProperties":
                            {"x-kubernetes-int-or-string": true, "anyOf": either, "pattern": "^[0-9]+([KMGTPE]i)?$"}},
                        "groups": {"type": "object", "additionalProperties": {"type": "array", "minItems": 2, "items": name}},
                        "shares": {"type": "array", "items": {"type": "number", "exclusiveMinimum": true, "minimum": 0}},
                        "place": {"type": "object", "minProperties": 1, "properties": {"row": {"type": "integer"}}},
                        "size": {"type": "integer", "enum": [1, 2, 4]},
                    }},
                }}},
            }],
        },
    });
    fs::write(folder.path().join("tent.json"), definition.to_string()).unwrap();
    let output = cargo_pilothouse(folder.path(), "import tent.json --own --print");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let own = stdout(&output);
    // rustfmt breaks long attributes into lines.
    let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = "min_length = 1, pattern = \"^[a-z]+$\", rule(\"self != 'x'\", \"x is taken\")";
    for part in [
        "#[schema(minimum = 1, max_length = 5, pattern = \"^[0-9]+%$\")] pub surge: Option<IntOrString>",
        "#[schema(pattern = \"^[0-9]+([KMGTPE]i)?$\")] pub memory: Option<IntOrString>",
        &format!("items({name})"),
        "#[schema(additional_properties(pattern = \"^[0-9]+([KMGTPE]i)?$\"))]",
        &format!("items({name})"),
        "#[schema(items(exclusive_minimum = 0.0))]",
        "#[schema(min_properties = 1)] pub place: Option<Place>",
        "#[schemars(extend(\"enum\" = [1, 2, 4]))] pub size: Option<i64>",
    ] {
        let compact = |text: &str| {
            text.replace("( ", "(")
                .replace(" )", ")")
                .replace(", )", ")")
        };
        assert!(compact(&own).contains(&compact(part)), "{part}: {own}");
    }
}

#[test]
fn what_no_attribute_can_say_is_named_with_its_fields() {
    let folder = tempfile::tempdir().unwrap();
    let one_of = json!([{"required": ["a"]}, {"required": ["b"]}]);
    let pair = json!({"type": "object", "oneOf": one_of, "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let mut fields =
        json!({"levels": {"type": "array", "items": {"type": "integer", "enum": [1, 2]}}});
    for name in ["one", "two", "three", "four"] {
        fields[name] = pair.clone();
    }
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "forks.a.dev"},
        "spec": {
            "group": "a.dev", "scope": "Cluster", "names": {"kind": "Fork", "plural": "forks"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": fields, "not": {"required": ["one", "two"]}},
                }}},
            }],
        },
    });
    fs::write(folder.path().join("fork.json"), definition.to_string()).unwrap();
    let output = cargo_pilothouse(folder.path(), "import fork.json --own --print");
    let said = String::from_utf8_lossy(&output.stderr);
    for what in [
        "`enum` of `spec.levels`",
        "`not` of `spec`",
        "`oneOf` of `spec.four`, `spec.one`, `spec.three` and 1 more",
    ] {
        let line = format!(
            "Fork v1: {what} is left out: `#[schema(..)]` cannot say it, so write a CEL rule if you need it\n"
        );
        assert!(said.contains(&line), "{line}: {said}");
    }
    assert_eq!(said.lines().count(), 3, "{said}");
    // Nothing is checked here for a foreign kind.
    let output = cargo_pilothouse(folder.path(), "import fork.json --print");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// What the derives cannot say, or not at that place.
#[test]
fn what_an_own_kind_leaves_out_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "desks.a.dev"},
        "spec": {
            "group": "a.dev", "scope": "Cluster", "names": {"kind": "Desk", "plural": "desks"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "selectableFields": [
                    {"jsonPath": ".spec.place.room"}, {"jsonPath": ".spec.gone"}, {"jsonPath": ".spec.place['room.size']"},
                ],
                "additionalPrinterColumns": [
                    {"name": "Age", "jsonPath": ".spec.age", "type": "integer"},
                    {"name": "Old", "jsonPath": ".metadata.creationTimestamp", "type": "date"},
                ],
                "subresources": {"scale": {"specReplicasPath": ".spec.place.legs", "statusReplicasPath": ".status.legs"}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "default": {"age": 1}, "properties": {
                        "age": {"type": "integer"},
                        "place": {"type": "object", "properties": {
                            "room": {"type": "string"}, "room.size": {"type": "string"}, "legs": {"type": "integer", "format": "int32"},
                        }},
                    }},
                    "status": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 4},
                }}},
            }],
        },
    });
    fs::write(folder.path().join("desk.json"), definition.to_string()).unwrap();
    let output = cargo_pilothouse(folder.path(), "import desk.json --own --print");
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    let own = stdout(&output);
    for part in [
        "#[schema(selectable)]\n    pub room:",
        "#[serde(rename = \"room.size\", skip_serializing_if = \"Option::is_none\")]\n    #[schema(selectable)]",
        "scale = \"spec\"",
    ] {
        assert!(own.contains(part), "{part}: {own}");
    }
    assert!(!own.contains("Age"), "{own}");
    for what in [
        "the selectable field `.spec.gone`",
        "the path `.status.legs` of the subresource scale",
        "the default of `spec`",
        "the bounds and rules of `status`",
        "the column `Age` of `.spec.age`, whose name the column of the creation time has,",
    ] {
        let line = format!("Desk v1: {what} is left out: add it by hand if you need it\n");
        assert!(said.contains(&line), "{line}: {said}");
    }
    assert_eq!(said.lines().count(), 5, "{said}");
}

#[test]
fn objects_are_read_and_written_as_they_are() {
    let object = json!({
        "apiVersion": "library.example.com/v1", "kind": "Bookcase", "metadata": {"name": "a"},
        "spec": {
            "room": "hall", "type": "2by4", "clusterIPs": [], "x-owner": "ann", "X_owner": "bob", "load": "5Ki", "port": 80,
            "since": "2026-01-01T00:00:00Z", "share": 0.5, "labels": {}, "light": {}, "anything": [1],
            "template": {"kind": "Pod"}, "mixed": {"a": "b", "c": "d"},
            "boards": [{"name": "top", "type": "open", "more": 7, "option": {"name": "x"}, "option_": {"size": 1}}],
        },
        "status": {"copies": 2},
    });
    let bookcase: bookcase::Bookcase = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(bookcase.spec.type_, Some(bookcase::BookcaseType::V2by4));
    assert_eq!(bookcase.spec.boards[0].others["more"], 7);
    assert_eq!(serde_json::to_value(&bookcase).unwrap(), object);
    assert!(bookcase::Bookcase::definition().is_none());
    assert_eq!(bookcase.name(), "a");
}

#[test]
fn input_that_cannot_be_imported_gets_an_error_that_says_what_to_do() {
    let package = package(&[
        ("src/lib.rs", ""),
        ("empty.yaml", ""),
        ("pod.yaml", "kind: Pod\n"),
        ("broken.yaml", "a: 1\nb: [\n"),
        (
            "none.yaml",
            "kind: Pod\n---\nkind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: x.a.dev}\nspec: {group: a.dev}\n",
        ),
    ]);
    let bookcases = kept("bookcases.yaml");
    for (line, expected) in [
        (
            "import missing.yaml",
            "there is no file missing.yaml: name a file with definitions",
        ),
        (
            "import empty.yaml",
            "empty.yaml has no CustomResourceDefinition: it has nothing",
        ),
        (
            "import pod.yaml",
            "pod.yaml has no CustomResourceDefinition: it has Pod",
        ),
        ("import broken.yaml", "broken.yaml: line "),
        (
            "import none.yaml",
            "none.yaml: line 6: x.a.dev: spec.names.kind: is missing",
        ),
        (
            "import BOOKCASES --kind Chair",
            "does not define the kind Chair: it has Bookcase",
        ),
        (
            "import BOOKCASES --version v2",
            ": line 9: bookcases.library.example.com: spec.versions: `v2` is not served: choose one of v1",
        ),
    ] {
        let line = line.replace("BOOKCASES", bookcases.to_str().unwrap());
        let said = stderr(&cargo_pilothouse(package.path(), &line));
        assert!(said.contains(expected), "{line}: {said}");
    }
    assert_eq!(
        fs::read_to_string(package.path().join("src/lib.rs")).unwrap(),
        ""
    );
}

/// A program in place of kubectl prints the definition, and notes how it was called.
#[cfg(unix)]
#[test]
fn a_kind_of_a_cluster_is_asked_for_with_kubectl() {
    use std::{env, os::unix::fs::PermissionsExt, process::Command};

    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list.json");
    let definition = json!({"items": [
        {"kind": "CustomResourceDefinition", "spec": {"names": {"kind": "Chair"}}},
        {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "desks.a.dev"},
            "spec": {
                "group": "a.dev", "scope": "Cluster", "names": {"kind": "Desk", "plural": "desks", "shortNames": ["dk"]},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
        },
    ]});
    fs::write(&list, definition.to_string()).unwrap();
    let kubectl = folder.path().join("kubectl");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {0}/calls\ncat {0}/list.json\n",
        folder.path().display()
    );
    fs::write(&kubectl, script).unwrap();
    fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o755)).unwrap();
    let path = env::var("PATH").unwrap_or_default();
    for name in ["dk@", "Desk@stage"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
        command.args(["pilothouse", "import", name, "--print"]);
        command.env("PATH", format!("{}:{path}", folder.path().display()));
        let said = stdout(&command.current_dir(folder.path()).output().unwrap());
        assert!(
            said.contains("pub struct Desk {\n    pub metadata: ObjectMeta,\n}"),
            "{said}"
        );
    }
    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    let call = "get customresourcedefinitions -o json";
    assert_eq!(calls, format!("{call}\n{call} --context stage\n"));
}
