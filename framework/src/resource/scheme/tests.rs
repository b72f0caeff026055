use super::{Manifest, ManifestError, Scheme, to_yaml};
use crate::resource::{DynamicObject, Object};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret},
};
use proptest::prelude::*;

fn scheme() -> Scheme {
    Scheme::new().with::<ConfigMap>().with::<Deployment>()
}

fn shown(found: &[Result<Manifest, ManifestError>]) -> Vec<String> {
    let show = |one: &Result<Manifest, ManifestError>| match one {
        Ok(manifest) => format!("{}:{} {manifest:?}", manifest.document, manifest.line),
        Err(error) => error.to_string(),
    };
    found.iter().map(show).collect()
}

const MIXED: &str = "\u{feff}# The settings.
%YAML 1.2
---
# A comment, and nothing else.
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  script: |
    --- not a separator
    echo
---
{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\",
 \"metadata\": {\"name\": \"b\"}}
{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"c\"}}

{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"d\"}}
--- # and now a deployment
{apiVersion: apps/v1, kind: Deployment, metadata: {name: e, namespace: ns}}
...
---
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: f}
- apiVersion: apps/v1
  kind: DeploymentList
  items:
  - metadata: {name: g}
";

#[test]
fn documents_of_every_form_are_read_in_order() {
    let found = scheme().decode(MIXED);
    assert_eq!(
        shown(&found),
        [
            "1:6 Manifest(ConfigMap a in v1)",
            "2:15 Manifest(ConfigMap b in v1)",
            "3:17 Manifest(ConfigMap c in v1)",
            "4:19 Manifest(ConfigMap d in v1)",
            "5:21 Manifest(Deployment ns/e in apps/v1)",
            "6:28 Manifest(ConfigMap f in v1)",
            "6:34 Manifest(Deployment g in apps/v1)",
        ]
    );
    let first = found.into_iter().next().unwrap().unwrap();
    assert!(first.get::<Deployment>().is_none());
    let map = first.downcast::<ConfigMap>().unwrap();
    assert_eq!(map.data.unwrap()["script"], "--- not a separator\necho\n");
}

#[test]
fn an_error_names_document_line_and_path_and_affects_only_its_object() {
    let text = "
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  port: 80
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: good}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: bad}
  spec:
    template:
      spec:
        containers:
        - name: hunter2
          ports:
          - containerPort: hunter2
- 7
---
kind: ConfigMap
---
apiVersion: v1
metadata: {}
---
apiVersion: extensions/v1beta1
kind: Deployment
---
a: b: c
---
{\"apiVersion\": \"v1\",
 \"kind\": \"ConfigMap\"
---
[1]
";
    assert_eq!(
        shown(&scheme().decode(text)),
        [
            "document 1, line 7: data.port: expected a string, found an integer",
            "2:12 Manifest(ConfigMap good in v1)",
            "document 2, line 22: items[1].spec.template.spec.containers[0].ports[0].containerPort: expected i32, found a string",
            "document 2, line 23: items[2]: not an object: `apiVersion`, `kind` and `metadata` are missing",
            "document 3, line 25: `apiVersion` is missing: every object needs it",
            "document 4, line 27: `kind` is missing: every object needs it",
            "document 5, line 30: the kind Deployment in extensions/v1beta1 is not in the scheme, which has it in apps/v1: add its type with `Scheme::with`, or read all kinds with `Scheme::with_other_kinds`",
            "document 6, line 33: not YAML: check indentation, quotes and brackets",
            "document 7, line 36: the JSON ends too early",
            "document 8, line 38: not an object: `apiVersion`, `kind` and `metadata` are missing",
        ]
    );
}

const SLOPPY: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  colour: blue
data: {a.b/c: x}
status: {}
---
{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"b\"},
 \"data\": {\"a\": \"1\",
          \"a\": \"2\"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a: one
  a: two
";

#[test]
fn unknown_and_duplicate_fields_are_errors_only_if_strict() {
    let found = scheme().decode(SLOPPY);
    let data = |at: usize| {
        let map = found[at].as_ref().unwrap().get::<ConfigMap>().unwrap();
        map.data.as_ref().unwrap()
    };
    assert_eq!((data(1)["a"].as_str(), data(2)["a"].as_str()), ("2", "two"));
    assert_eq!(
        shown(&scheme().strict().decode(SLOPPY)),
        [
            "document 1, line 5: metadata.colour: the type has no such field",
            "document 1, line 7: status: the type has no such field",
            "document 2, line 11: data.a: duplicate key: remove all but one",
            "document 3, line 18: duplicate key: remove all but one",
        ]
    );
}

#[test]
fn other_kinds_become_dynamic_objects_if_the_scheme_allows_it() {
    let text = "apiVersion: demo.dev/v1\nkind: Site\nmetadata: {name: a}\nspec: {pages: 3}\n";
    let found = scheme().with_other_kinds().strict().decode(text);
    let site = found[0].as_ref().unwrap().get::<DynamicObject>().unwrap();
    assert_eq!((site.name(), &site.data["spec"]["pages"]), ("a", &3.into()));
    let found = scheme().with_other_kinds().decode("kind: Site");
    assert_eq!(
        shown(&found),
        ["document 1, line 1: `apiVersion` is missing: every object needs it"]
    );
}

/// kubectl follows YAML 1.1, in which more words are booleans than in YAML 1.2.
#[test]
fn scalars_mean_what_they_mean_to_kubectl() {
    let read = |value: &str| {
        let text = format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: a}}, stringData: {{k: {value}}}}}"
        );
        let found = Scheme::new().with::<Secret>().decode(&text).remove(0);
        found.map(|one| {
            one.downcast::<Secret>()
                .unwrap()
                .string_data
                .unwrap()
                .remove("k")
        })
    };
    for (value, text) in [
        ("\"1\"", "1"),
        ("'yes'", "yes"),
        ("2026-01-01", "2026-01-01"),
        ("1.2.3", "1.2.3"),
    ] {
        assert_eq!(read(value), Ok(Some(text.to_owned())), "{value}");
    }
    for value in ["1", "0x10", "1.5", "true", "yes", "on"] {
        assert!(read(value).is_err(), "{value}");
    }
}

#[test]
fn written_objects_are_read_back_unchanged() {
    let found = scheme().decode(MIXED);
    let all: Vec<_> = found.into_iter().map(Result::unwrap).collect();
    let text = to_yaml(&all).unwrap();
    let again: Vec<_> = scheme()
        .strict()
        .decode(&text)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(again.len(), all.len());
    for (one, other) in all.iter().zip(&again) {
        assert_eq!(one.get::<ConfigMap>(), other.get::<ConfigMap>());
        assert_eq!(one.get::<Deployment>(), other.get::<Deployment>());
    }
}

#[test]
fn hostile_texts_are_errors() {
    let bomb = (1..20).fold("a: &a0 [x, x]\n".to_owned(), |text, n| {
        let before = n - 1;
        format!("{text}b{n}: &a{n} [*a{before}, *a{before}, *a{before}, *a{before}]\n")
    });
    for text in [
        bomb,
        "[".repeat(100_000),
        "{\"a\":".repeat(100_000),
        "- ".repeat(100_000),
    ] {
        let found = scheme().with_other_kinds().decode(&text);
        assert!(found.iter().all(Result::is_err), "{}", &text[..20]);
    }
}

proptest! {
    #[test]
    fn any_text_gives_objects_or_errors_with_a_valid_line(text in "(---|\\.\\.\\.|kind: |List|items:|apiVersion: v1|[-\n :{}\\[\\],\"'&*!#|>a1é]){0,60}") {
        for found in scheme().with_other_kinds().strict().decode(&text) {
            if let Err(error) = found {
                let lines = text.lines().count().max(1);
                prop_assert!((1..=lines + 1).contains(&error.line), "{error} of {text:?}");
            }
        }
    }
}
