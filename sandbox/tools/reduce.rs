//! Reduces the OpenAPI and discovery documents of a Kubernetes release to the data that the sandbox embeds.
//!
//! ```text
//! go mod download -json k8s.io/kubernetes@v1.37.2       # prints "Dir"
//! cargo run -p pilothouse-sandbox --example reduce -- <Dir> v1.37.2 <Documents>
//! ```
//!
//! `<Documents>` is a folder with the documents that a server of this version serves below `/openapi/v3`, such as that of `tests/cluster`. Unlike those of the
//! module, they name the values of fields that take only a few. Each document is a file whose name is its path with `__` for `/`, and ends with
//! `_openapi.json`.
//!
//! It reads `api/discovery/*.json` and `api/openapi-spec/v3/*.json` below `<Dir>` and follows every reference from the
//! kinds that a server serves by default: those of stable versions. It drops all defaults that only restate Go's zero value. It writes these
//! files into `sandbox/src/builtin/data/`: `resources.json` (names, verbs, subresources; read when a sandbox starts),
//! `definitions.json.gz` (types without prose; decompressed when first needed) and `descriptions.json.gz` (the prose: what Kubernetes says about
//! types, fields and parameters; decompressed when first asked for). It also reads the roles and bindings of a new cluster, and writes them to
//! `roles.json.gz`. All name the module version.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// Further definitions: the bodies of requests and responses.
const EXTRA: &[&str] = &[
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, version, documents] = arguments.as_slice() else {
        return Err(
            "usage: reduce <directory of the k8s.io/kubernetes module> <its version> <documents of a server>".into(),
        );
    };
    let source = format!("k8s.io/kubernetes {version}");
    let api = Path::new(directory).join("api");
    // Definitions that several documents repeat are the same in each.
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    let mut parameters = BTreeMap::new();
    // The same, as a server shows them.
    let mut shown: BTreeMap<String, Value> = BTreeMap::new();
    let served = served(&read(&api.join("discovery/apis.json"))?);
    for (group, version) in &served {
        let name = format!("{}_openapi.json", file_stem(group, version));
        let document: Value = read(&api.join("openapi-spec/v3").join(&name))?;
        let schemas = document["components"]["schemas"]
            .as_object()
            .ok_or("a document without components.schemas")?;
        all.extend(schemas.iter().map(|(k, v)| (k.clone(), v.clone())));
        describe_parameters(&document["paths"], &mut parameters);
        let document: Value = read(&Path::new(documents).join(&name))?;
        let schemas = document["components"]["schemas"].as_object().cloned();
        shown.extend(schemas.unwrap_or_default());
    }

    let mut resources = Vec::new();
    let mut wanted: Vec<String> = EXTRA.iter().map(ToString::to_string).collect();
    for (group, version) in &served {
        let name = format!("{}.json", file_stem(group, version));
        let discovery: Value = read(&api.join("discovery").join(name))?;
        let names = list(&discovery["resources"]).filter_map(|r| r["name"].as_str());
        for plural in names.filter(|name| !name.contains('/')) {
            let (resource, used) = resource(&discovery, &all, group, version, plural)?;
            wanted.extend(used);
            resources.push(resource);
        }
    }

    let mut definitions = BTreeMap::new();
    let (mut descriptions, mut enums) = (BTreeMap::new(), BTreeMap::new());
    for resource in &resources {
        let name = format!(
            "{}List",
            resource["definition"].as_str().unwrap_or_default()
        );
        if let Some(list) = shown.get(&name) {
            descriptions.insert(name, described(list));
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let full = all
            .get(&name)
            .ok_or_else(|| format!("no definition {name}"))?;
        let short = reduce(full, &mut wanted);
        let shown = shown
            .get(&name)
            .ok_or_else(|| format!("the server has no definition {name}"))?;
        descriptions.insert(name.clone(), described(shown));
        let values = enums_of(shown);
        if !values.is_empty() {
            enums.insert(name.clone(), values);
        }
        definitions.insert(name, short);
    }

    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/builtin/data");
    fs::create_dir_all(&target)?;
    let mut text =
        serde_json::to_string_pretty(&json!({"source": source, "resources": resources}))?;
    text.push('\n');
    fs::write(target.join("resources.json"), text)?;
    let body = serde_json::to_vec(&json!({"source": source, "definitions": definitions}))?;
    println!(
        "{} resources, {} definitions",
        resources.len(),
        definitions.len()
    );
    pack(&target.join("definitions.json.gz"), &body)?;
    let body = serde_json::to_vec(&json!({
        "source": source,
        "definitions": descriptions,
        "enums": enums,
        "parameters": parameters,
    }))?;
    pack(&target.join("descriptions.json.gz"), &body)?;
    let body = json!({"objects": roles(Path::new(directory))?, "source": source});
    pack(&target.join("roles.json.gz"), &serde_json::to_vec(&body)?)
}

/// The roles and bindings that a new cluster has.
fn roles(module: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    let folder = module.join("plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata");
    let mut roles = Vec::new();
    for name in [
        "cluster-roles",
        "cluster-role-bindings",
        "controller-roles",
        "controller-role-bindings",
        "namespace-roles",
        "namespace-role-bindings",
    ] {
        let text = fs::read_to_string(folder.join(format!("{name}.yaml")))?;
        let document: Value = serde_saphyr::from_str(&text)?;
        roles.extend(list(&document["items"]).map(without_nulls));
    }
    Ok(roles)
}

/// A value without the fields that are `null`.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let set = fields.iter().filter(|(_, value)| !value.is_null());
            let set = set.map(|(name, value)| (name.clone(), without_nulls(value)));
            Value::Object(set.collect())
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

fn pack(file: &Path, body: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut gzip = flate2::GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), flate2::Compression::best());
    gzip.write_all(body)?;
    let packed = gzip.finish()?;
    println!(
        "{}: {} bytes packed into {}",
        file.display(),
        body.len(),
        packed.len()
    );
    fs::write(file, packed)?;
    Ok(())
}

fn file_stem(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api__{version}")
    } else {
        format!("apis__{group}__{version}")
    }
}

fn read(path: &Path) -> Result<Value, Box<dyn Error>> {
    let text = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", path.display()))?)
}

/// Group and version of everything that a server serves by default, in the order of discovery: the stable versions.
fn served(groups: &Value) -> Vec<(String, String)> {
    let stable = |version: &&str| {
        version
            .strip_prefix('v')
            .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut served = vec![(String::new(), "v1".to_owned())];
    for group in list(&groups["groups"]) {
        let name = group["name"].as_str().unwrap_or_default();
        let versions = list(&group["versions"]).filter_map(|entry| entry["version"].as_str());
        served.extend(
            versions
                .filter(stable)
                .map(|version| (name.to_owned(), version.to_owned())),
        );
    }
    served
}

/// The entry of `resources.json` for one resource, and the names of the definitions that it needs.
fn resource(
    discovery: &Value,
    all: &BTreeMap<String, Value>,
    group: &str,
    version: &str,
    plural: &str,
) -> Result<(Value, Vec<String>), Box<dyn Error>> {
    let what = format!("{group}/{version} {plural}");
    let found = list(&discovery["resources"])
        .find(|r| r["name"] == plural)
        .ok_or_else(|| format!("{what}: not in discovery"))?;
    let definition = definition_of(all, group, version, &found["kind"])
        .ok_or_else(|| format!("{what}: no definition"))?;
    let mut used = vec![definition.clone()];
    let mut subresources = Vec::new();
    for entry in list(&discovery["resources"]) {
        let name = entry["name"].as_str().unwrap_or_default();
        let Some(name) = name
            .strip_prefix(plural)
            .and_then(|rest| rest.strip_prefix('/'))
        else {
            continue;
        };
        let or = |field: &str, own: &str| entry[field].as_str().unwrap_or(own).to_owned();
        let (group, version) = (or("group", group), or("version", version));
        used.extend(definition_of(all, &group, &version, &entry["kind"]));
        subresources.push(json!({
            "name": name,
            "group": group,
            "version": version,
            "kind": entry["kind"],
            "verbs": entry["verbs"],
        }));
    }
    let entry = json!({
        "group": group,
        "version": version,
        "kind": found["kind"],
        "plural": plural,
        "singular": found["singularName"],
        "shortNames": list(&found["shortNames"]).collect::<Vec<_>>(),
        "categories": list(&found["categories"]).collect::<Vec<_>>(),
        "namespaced": found["namespaced"],
        "verbs": list(&found["verbs"]).collect::<Vec<_>>(),
        "storageVersionHash": found["storageVersionHash"],
        "subresources": subresources,
        "definition": definition,
    });
    Ok((entry, used))
}

/// The name of the definition of a kind.
fn definition_of(
    all: &BTreeMap<String, Value>,
    group: &str,
    version: &str,
    kind: &Value,
) -> Option<String> {
    let gvk = json!({"group": group, "version": version, "kind": kind});
    let mut found = all.iter().filter(|(_, schema)| {
        let gvks = &schema["x-kubernetes-group-version-kind"];
        list(gvks).any(|entry| *entry == gvk)
    });
    found.next().map(|(name, _)| name.clone())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A schema without prose. Its references are shortened to definition names and added to `wanted`.
fn reduce(schema: &Value, wanted: &mut Vec<String>) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let mut short = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            "description" => {}
            "default" if is_zero(value) => {}
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let reduced: Map<String, Value> = properties
                    .map(|(k, v)| (k.clone(), reduce(v, wanted)))
                    .collect();
                short.insert(key.clone(), Value::Object(reduced));
            }
            // Version 3 wraps a reference in `allOf`, so that other keywords can stand beside it.
            "allOf" => {
                for part in list(value) {
                    if let Value::Object(part) = reduce(part, wanted) {
                        short.extend(part);
                    }
                }
            }
            "items" | "additionalProperties" => {
                short.insert(key.clone(), reduce(value, wanted));
            }
            "$ref" => {
                let name = value.as_str().unwrap_or_default();
                let name = name.rsplit('/').next().unwrap_or(name).to_owned();
                short.insert(key.clone(), Value::String(name.clone()));
                wanted.push(name);
            }
            // DeleteOptions, WatchEvent and the like belong to every group; the first names are enough.
            "x-kubernetes-group-version-kind" if list(value).count() > 1 => {
                let own: Vec<&Value> = list(value).filter(|gvk| gvk["group"] == "").collect();
                short.insert(key.clone(), json!(own));
            }
            _ => {
                short.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(short)
}

/// What is said about a definition, under the empty name, and about its fields.
fn described(schema: &Value) -> BTreeMap<&str, &str> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    let fields = fields.map(|(name, field)| (name.as_str(), field));
    [("", schema)]
        .into_iter()
        .chain(fields)
        .filter_map(|(name, schema)| Some((name, schema["description"].as_str()?)))
        .collect()
}

/// The values of the fields that take only a few.
fn enums_of(schema: &Value) -> BTreeMap<String, &Value> {
    let mut found = BTreeMap::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        for (suffix, values) in [
            ("", &field["enum"]),
            ("[]", &field["items"]["enum"]),
            ("{}", &field["additionalProperties"]["enum"]),
        ] {
            if !values.is_null() {
                found.insert(format!("{name}{suffix}"), values);
            }
        }
    }
    found
}

/// Adds what is said about the parameters of requests for objects. A patch says more about some of them: those are also under `patch/` and
/// their name. The parameter `name` is left out: what is said about it depends on the kind.
fn describe_parameters(paths: &Value, into: &mut BTreeMap<String, String>) {
    for item in paths
        .as_object()
        .into_iter()
        .flatten()
        .map(|(_, item)| item)
    {
        let methods = item.as_object().into_iter().flatten();
        let methods = methods.filter(|(_, operation)| {
            let action = operation["x-kubernetes-action"].as_str();
            action.is_some_and(|action| action != "connect")
        });
        let mut all: Vec<(&str, &Value)> = methods
            .map(|(method, operation)| (method.as_str(), &operation["parameters"]))
            .collect();
        if !all.is_empty() {
            all.push(("", &item["parameters"]));
        }
        for (method, parameters) in all {
            for parameter in list(parameters) {
                let name = parameter["name"].as_str().unwrap_or_default();
                let text = parameter["description"].as_str().unwrap_or_default();
                let name = match method {
                    "patch" => format!("patch/{name}"),
                    _ if name == "name" => continue,
                    _ => name.to_owned(),
                };
                into.entry(name).or_insert_with(|| text.to_owned());
            }
        }
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(true) => false,
    }
}
