use super::definitions::{definition_name, list_name, meta, scale};
use crate::builtin;
use crate::registry::ServedKind;

/// One operation on one path, before it is written in either version.
pub(super) struct Operation {
    pub(super) path: String,
    pub(super) method: &'static str,
    /// Kubernetes' name for the action.
    pub(super) action: &'static str,
    /// The parameters of the query, by name.
    pub(super) query: &'static [&'static str],
    /// The definition of the body. A patch is an object of any form.
    pub(super) body: Option<Body>,
    /// The definition of the response.
    pub(super) answer: String,
    /// A unique name.
    pub(super) id: String,
    /// A short description.
    pub(super) description: String,
    /// The group and version under which clients sort it.
    pub(super) tag: String,
    /// Group, version and kind of the objects.
    pub(super) gvk: [String; 3],
}

pub(super) enum Body {
    Object(String),
    /// A patch of one of these media types.
    Patch(&'static [&'static str]),
}

const PATCH_TYPES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// The patch formats of a kind. Clients choose by them: a custom resource has no strategic merge patch.
fn patch_types(kind: &ServedKind) -> &'static [&'static str] {
    let known = PATCH_TYPES.len() - usize::from(kind.is_custom());
    PATCH_TYPES.get(..known).unwrap_or_default()
}

const LIST: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];
const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
const READ: &[&str] = &["resourceVersion"];
const PATCH: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];
const DELETE: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];

/// The type of a query parameter.
pub(super) fn parameter_type(name: &str) -> &'static str {
    match name {
        "limit" | "timeoutSeconds" | "gracePeriodSeconds" => "integer",
        "watch"
        | "allowWatchBookmarks"
        | "sendInitialEvents"
        | "force"
        | "orphanDependents"
        | "ignoreStoreReadErrorWithClusterBreakingPotential" => "boolean",
        _ => "string",
    }
}

/// The names in the braces of a path.
pub(super) fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// The description of a parameter in a path. The operations are those on the path.
pub(super) fn path_parameter_description(name: &str, operations: &[Operation]) -> Option<String> {
    if name != "name" {
        return builtin::parameter_description("", name).map(String::from);
    }
    let [_, _, kind] = &operations.first()?.gvk;
    Some(format!("name of the {kind}"))
}

/// Every operation of a kind.
pub(super) fn operations(kind: &ServedKind) -> Vec<Operation> {
    let root = if kind.group.is_empty() {
        format!("/api/{}", kind.version)
    } else {
        format!("/apis/{}/{}", kind.group, kind.version)
    };
    let collection = if kind.namespaced {
        format!("{root}/namespaces/{{namespace}}/{}", kind.plural)
    } else {
        format!("{root}/{}", kind.plural)
    };
    let item = format!("{collection}/{{name}}");
    let own = definition_name(kind);
    let mut all = Vec::new();
    let mut add = |path: &str,
                   scope: &str,
                   method,
                   action,
                   query,
                   body: Option<Body>,
                   answer: &str,
                   gvk: [&str; 3]| {
        all.push(Operation {
            path: path.to_owned(),
            method,
            action,
            query,
            body,
            answer: answer.to_owned(),
            id: operation_id(kind, action, scope),
            description: description(kind, action, scope),
            tag: tag(kind),
            gvk: gvk.map(str::to_owned),
        });
    };
    let gvk = [&*kind.group, &*kind.version, &*kind.kind];
    let object = |name: &str| Some(Body::Object(name.to_owned()));
    let (list, status, options) = (list_name(kind), meta("Status"), meta("DeleteOptions"));
    if kind.allows("list") {
        add(&collection, "", "get", "list", LIST, None, &list, gvk);
        if kind.namespaced {
            let everywhere = format!("{root}/{}", kind.plural);
            let scope = "ForAllNamespaces";
            add(&everywhere, scope, "get", "list", LIST, None, &list, gvk);
        }
    }
    if kind.allows("create") {
        add(
            &collection,
            "",
            "post",
            "post",
            WRITE,
            object(&own),
            &own,
            gvk,
        );
    }
    if kind.allows("deletecollection") {
        // For custom resources a real server lists only the query.
        let (query, body) = match kind.is_custom() {
            true => (LIST, None),
            false => (DELETE, object(&options)),
        };
        add(
            &collection,
            "",
            "delete",
            "deletecollection",
            query,
            body,
            &status,
            gvk,
        );
    }
    if kind.allows("get") {
        let query = if kind.is_custom() { READ } else { &[] };
        add(&item, "", "get", "get", query, None, &own, gvk);
    }
    if kind.allows("update") {
        add(&item, "", "put", "put", WRITE, object(&own), &own, gvk);
    }
    if kind.allows("patch") {
        add(
            &item,
            "",
            "patch",
            "patch",
            PATCH,
            Some(Body::Patch(patch_types(kind))),
            &own,
            gvk,
        );
    }
    if kind.allows("delete") {
        add(
            &item,
            "",
            "delete",
            "delete",
            DELETE,
            object(&options),
            &status,
            gvk,
        );
    }
    let mut subresource = |name: &str, scope: &str, answer: &str, gvk: [&str; 3]| {
        let path = format!("{item}/{name}");
        let query = if kind.is_custom() { READ } else { &[] };
        add(&path, scope, "get", "get", query, None, answer, gvk);
        add(
            &path,
            scope,
            "put",
            "put",
            WRITE,
            object(answer),
            answer,
            gvk,
        );
        add(
            &path,
            scope,
            "patch",
            "patch",
            PATCH,
            Some(Body::Patch(patch_types(kind))),
            answer,
            gvk,
        );
    };
    if kind.status {
        subresource("status", "Status", &own, gvk);
    }
    if kind.scale.is_some() {
        let about = match kind.is_custom() {
            true => gvk,
            false => ["autoscaling", "v1", "Scale"],
        };
        subresource("scale", "Scale", scale(), about);
    }
    all
}

/// A name such as `patchAppsV1NamespacedDeploymentStatus`.
fn operation_id(kind: &ServedKind, action: &str, scope: &str) -> String {
    let (action, collection) = match action {
        "get" => ("read", ""),
        "put" => ("replace", ""),
        "post" => ("create", ""),
        "deletecollection" => ("delete", "Collection"),
        other => (other, ""),
    };
    let group: String = group_words(kind).map(capitalized).collect();
    let version = capitalized(&kind.version);
    let namespaced = if kind.namespaced && scope != "ForAllNamespaces" {
        "Namespaced"
    } else {
        ""
    };
    format!(
        "{action}{group}{version}{collection}{namespaced}{}{scope}",
        kind.kind
    )
}

fn group_words(kind: &ServedKind) -> impl Iterator<Item = &str> {
    let group = if kind.group.is_empty() {
        "core"
    } else {
        kind.group.strip_suffix(".k8s.io").unwrap_or(&kind.group)
    };
    group.split(['.', '-'])
}

/// A name such as `rbacAuthorization_v1`.
fn tag(kind: &ServedKind) -> String {
    let words = group_words(kind).enumerate().map(|(index, word)| {
        if index == 0 {
            word.to_owned()
        } else {
            capitalized(word)
        }
    });
    format!("{}_{}", words.collect::<String>(), kind.version)
}

fn description(kind: &ServedKind, action: &str, scope: &str) -> String {
    let part = match scope {
        "" | "ForAllNamespaces" => String::new(),
        subresource => format!("{} of ", subresource.to_lowercase()),
    };
    let kind = &kind.kind;
    let article = match kind.starts_with(['A', 'E', 'I', 'O', 'U']) {
        true => "an",
        false => "a",
    };
    match action {
        "list" => format!("list objects of kind {kind}"),
        "post" => format!("create {article} {kind}"),
        "delete" => format!("delete {article} {kind}"),
        "deletecollection" => format!("delete collection of {kind}"),
        "put" => format!("replace {part}the specified {kind}"),
        "patch" => format!("partially update {part}the specified {kind}"),
        _ => format!("read {part}the specified {kind}"),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
