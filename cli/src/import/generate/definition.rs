//! What a definition says.

use serde_json::Value;

use super::{
    Problem,
    names::TAKEN,
    schema::{flag, text, texts},
    words::field_name,
};

/// The annotation without which an API server takes no definition in a group of Kubernetes.
pub(super) const APPROVAL: &str = "api-approved.kubernetes.io";

/// A CustomResourceDefinition.
#[derive(Debug)]
pub(crate) struct Definition {
    /// Its name: plural and group.
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    /// The approval that a definition in a group of Kubernetes needs.
    pub(crate) approval: Option<String>,
    /// The versions that an API server serves, the newest first.
    pub(crate) versions: Vec<Version>,
}

/// A served version of a kind.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) is_stored: bool,
    /// What the API server tells each client, if the version is deprecated.
    pub(crate) deprecated: Option<String>,
    /// The schema of the object.
    pub(crate) schema: Value,
    /// The columns of `kubectl get`.
    pub(crate) columns: Vec<Value>,
    /// JSON paths of the fields that field selectors can name.
    pub(crate) selectable: Vec<String>,
    /// The subresource `scale`, with its JSON paths.
    pub(crate) scale: Value,
}

impl Definition {
    /// The module of its types.
    pub(crate) fn module(&self) -> String {
        field_name(&self.kind)
    }

    /// Leaves only this version.
    ///
    /// # Errors
    /// The definition does not serve it.
    pub(crate) fn only(&mut self, version: &str) -> Result<(), Problem> {
        let names: Vec<String> = self.versions.iter().map(|one| one.name.clone()).collect();
        self.versions.retain(|one| one.name == version);
        if !self.versions.is_empty() {
            return Ok(());
        }
        Err(Problem {
            definition: self.name.clone(),
            path: "spec.versions".into(),
            text: format!(
                "`{version}` is not served: choose one of {}",
                names.join(", ")
            ),
        })
    }
}

/// The definitions of these kinds among the objects, or all if none is named. Lists are searched, and other kinds are skipped.
///
/// # Errors
/// A definition of these kinds lacks something.
pub(crate) fn definitions(objects: &[Value], kinds: &[String]) -> Result<Vec<Definition>, Problem> {
    let mut found = Vec::new();
    for object in all(objects) {
        let is_wanted = |kind: &String| object["spec"]["names"]["kind"] == **kind;
        if kinds.is_empty() || kinds.iter().any(is_wanted) {
            found.push(read(object)?);
        }
    }
    Ok(found)
}

/// The kinds that the definitions among these objects name, also if something else is wrong with them.
pub(crate) fn kinds(objects: &[Value]) -> Vec<&str> {
    let kinds = all(objects).into_iter();
    kinds
        .map(|one| text(&one["spec"]["names"], "kind"))
        .collect()
}

/// The definitions among these objects.
fn all(objects: &[Value]) -> Vec<&Value> {
    let mut found = Vec::new();
    for object in objects {
        if let Some(items) = object["items"].as_array() {
            found.extend(all(items));
        } else if object["kind"] == "CustomResourceDefinition" {
            found.push(object);
        }
    }
    found
}

fn read(object: &Value) -> Result<Definition, Problem> {
    let name = match text(&object["metadata"], "name") {
        "" => "a definition without a name".to_owned(),
        name => name.to_owned(),
    };
    let problem = |path: &str, text: &str| Problem {
        definition: name.clone(),
        path: path.into(),
        text: text.into(),
    };
    if object["apiVersion"] != "apiextensions.k8s.io/v1" {
        return Err(problem(
            "apiVersion",
            "only definitions of `apiextensions.k8s.io/v1` can be imported: apply it to a cluster, and import it from there",
        ));
    }
    let spec = &object["spec"];
    let needed = |holder: &Value, key: &str, path: &str| match holder[key].as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(problem(path, "is missing, or no text: add it")),
    };
    let group = needed(spec, "group", "spec.group")?;
    if !is_group(&group) {
        return Err(problem(
            "spec.group",
            "is not a DNS name with a dot, such as `example.com`",
        ));
    }
    let kind = needed(&spec["names"], "kind", "spec.names.kind")?;
    let is_kind = kind.starts_with(|first: char| first.is_ascii_uppercase())
        && kind.chars().all(|one| one.is_ascii_alphanumeric())
        && kind.len() <= 63;
    if !is_kind {
        return Err(problem(
            "spec.names.kind",
            "does not begin with a capital letter, or has other characters than letters and digits: use a `DynamicObject` for this kind",
        ));
    }
    if TAKEN.contains(&&*kind) {
        return Err(problem(
            "spec.names.kind",
            "is the name of a type that each written source uses: use a `DynamicObject` for this kind",
        ));
    }
    let plural = needed(&spec["names"], "plural", "spec.names.plural")?;
    if !is_label(&plural) {
        return Err(problem(
            "spec.names.plural",
            "is not a DNS label of at most 63 lower-case letters, digits and `-`",
        ));
    }
    // The name is written into a comment, and an API server takes no other.
    if name != format!("{plural}.{group}") {
        return Err(problem(
            "metadata.name",
            &format!("is not `{plural}.{group}`, the plural and the group"),
        ));
    }
    let singular = match text(&spec["names"], "singular") {
        "" => kind.to_lowercase(),
        singular => singular.to_owned(),
    };
    let namespaced = match text(spec, "scope") {
        "Namespaced" => true,
        "Cluster" => false,
        _ => {
            return Err(problem(
                "spec.scope",
                "is neither `Namespaced` nor `Cluster`",
            ));
        }
    };
    let all = match spec["versions"].as_array() {
        Some(all) if !all.is_empty() => all,
        _ => return Err(problem("spec.versions", "has no version: add one")),
    };
    let mut versions = Vec::new();
    for (at, version) in all.iter().enumerate() {
        if version["served"] == false {
            continue;
        }
        let name = needed(version, "name", &format!("spec.versions[{at}].name"))?;
        if rank(&name).is_none() {
            return Err(problem(
                &format!("spec.versions[{at}].name"),
                "is not the name of a version, such as `v1` or `v1beta2`",
            ));
        }
        let schema = &version["schema"]["openAPIV3Schema"];
        if !schema.is_object() {
            return Err(problem(
                &format!("spec.versions[{at}].schema.openAPIV3Schema"),
                "is missing: each version needs a schema, if need be `type: object` with `x-kubernetes-preserve-unknown-fields: true`",
            ));
        }
        let subresources = &version["subresources"];
        let warning = match text(version, "deprecationWarning") {
            "" => format!(
                "{} {name} is deprecated",
                spec["group"].as_str().unwrap_or_default()
            ),
            warning => warning.to_owned(),
        };
        versions.push(Version {
            name,
            is_stored: flag(version, "storage"),
            deprecated: flag(version, "deprecated").then_some(warning),
            schema: schema.clone(),
            columns: version["additionalPrinterColumns"]
                .as_array()
                .cloned()
                .unwrap_or_default(),
            selectable: version["selectableFields"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|field| text(field, "jsonPath").to_owned())
                .collect(),
            scale: subresources["scale"].clone(),
        });
    }
    if versions.is_empty() {
        return Err(problem(
            "spec.versions",
            "no version is served: import an older or a newer definition",
        ));
    }
    versions.sort_by_key(|version| std::cmp::Reverse(rank(&version.name)));
    let owned = |key: &str| {
        let names = texts(&spec["names"], key).into_iter();
        names.map(str::to_owned).collect()
    };
    let (short_names, categories) = (owned("shortNames"), owned("categories"));
    Ok(Definition {
        name,
        group,
        kind,
        plural,
        singular,
        namespaced,
        short_names,
        categories,
        approval: object["metadata"]["annotations"][APPROVAL]
            .as_str()
            .map(str::to_owned),
        versions,
    })
}

fn is_label(text: &str) -> bool {
    let inner = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
    !text.is_empty()
        && text.len() <= 63
        && text.chars().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_group(text: &str) -> bool {
    text.contains('.') && text.len() <= 253 && text.split('.').all(is_label)
}

/// The order of versions in Kubernetes: stable ones last, then by their numbers. `None` if it is no version.
fn rank(name: &str) -> Option<(u8, u32, u32)> {
    let number = |text: &str| -> Option<u32> {
        let is_plain = text.bytes().all(|one| one.is_ascii_digit()) && !text.starts_with('0');
        text.parse().ok().filter(|_| is_plain)
    };
    let rest = name.strip_prefix('v')?;
    for (stage, order) in [("alpha", 0), ("beta", 1)] {
        if let Some((major, minor)) = rest.split_once(stage) {
            return Some((order, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition() -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boxes.a.dev"},
            "spec": {
                "group": "a.dev", "scope": "Namespaced", "names": {"kind": "Box", "plural": "boxes"},
                "versions": [
                    {"name": "v1beta1", "served": true, "schema": {"openAPIV3Schema": {}}},
                    {"name": "v1alpha9", "served": false, "schema": {"openAPIV3Schema": {}}},
                    {"name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": {}}},
                    {"name": "v10", "served": true, "schema": {"openAPIV3Schema": {}}},
                ],
            },
        })
    }

    #[test]
    fn the_newest_served_version_is_the_first() {
        let list = json!({"kind": "List", "items": [{"kind": "Service"}, definition()]});
        let [mut definition] = <[_; 1]>::try_from(definitions(&[list], &[]).unwrap()).unwrap();
        let names: Vec<_> = definition
            .versions
            .iter()
            .map(|one| one.name.clone())
            .collect();
        assert_eq!(names, ["v10", "v2", "v1beta1"]);
        assert_eq!(definition.singular, "box");
        let error = definition.only("v1alpha9").unwrap_err().to_string();
        let expected =
            "boxes.a.dev: spec.versions: `v1alpha9` is not served: choose one of v10, v2, v1beta1";
        assert_eq!(error, expected);
    }

    #[test]
    fn a_definition_that_nobody_asks_for_may_be_wrong() {
        let mut wrong = definition();
        wrong["spec"]["names"] = json!({"kind": "Crate", "plural": "crates"});
        let list = [json!({"kind": "List", "items": [wrong, definition()]})];
        let wanted = |kind: &str| definitions(&list, &[kind.to_owned()]);
        assert_eq!(wanted("Box").unwrap().len(), 1);
        assert_eq!(wanted("Crate").unwrap_err().path, "metadata.name");
        assert!(definitions(&list, &[]).is_err());
        assert_eq!(kinds(&list), ["Crate", "Box"]);
    }

    #[test]
    fn what_is_missing_is_named_with_its_place() {
        for (pointer, value, path) in [
            (
                "/apiVersion",
                json!("apiextensions.k8s.io/v1beta1"),
                "apiVersion",
            ),
            ("/spec/group", json!(null), "spec.group"),
            ("/spec/group", json!("dev"), "spec.group"),
            ("/spec/names/kind", json!(7), "spec.names.kind"),
            ("/spec/names/kind", json!("My-Kind"), "spec.names.kind"),
            ("/spec/names/kind", json!("Option"), "spec.names.kind"),
            ("/spec/names/plural", json!("a\"b"), "spec.names.plural"),
            ("/spec/names/plural", json!("crates"), "metadata.name"),
            ("/spec/scope", json!("Galaxy"), "spec.scope"),
            ("/spec/versions", json!([]), "spec.versions"),
            (
                "/spec/versions",
                json!([{"name": "v1", "served": false}]),
                "spec.versions",
            ),
            (
                "/spec/versions/0/name",
                json!("beta"),
                "spec.versions[0].name",
            ),
            (
                "/spec/versions/2/schema",
                json!(null),
                "spec.versions[2].schema.openAPIV3Schema",
            ),
        ] {
            let mut object = definition();
            *object.pointer_mut(pointer).unwrap() = value;
            let problem = definitions(&[object], &[]).unwrap_err();
            assert_eq!(
                (&*problem.definition, &*problem.path),
                ("boxes.a.dev", path)
            );
        }
    }
}
