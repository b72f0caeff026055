use std::sync::Arc;

use serde_json::Value;

use super::{flag, items, selectable_fields, text};
use crate::discovery::version_order;
use crate::meta;
use crate::registry::{Column, Converter, Origin, ScalePaths, SchemaSource, ServedKind};
use crate::schema::Schema;

/// The kinds of a definition: one for each served version. Exactly one of them counts as stored, for the parts of the
/// sandbox that visit all objects.
pub(crate) fn kinds(definition: &Value) -> Vec<Arc<ServedKind>> {
    let served: Vec<&Value> = items(definition, "/spec/versions")
        .iter()
        .filter(|version| flag(version, "/served"))
        .collect();
    let stored = served
        .iter()
        .position(|version| flag(version, "/storage"))
        .unwrap_or(0);
    let kinds = served.iter().enumerate();
    kinds
        .map(|(index, version)| Arc::new(kind(definition, version, index == stored)))
        .collect()
}

fn kind(definition: &Value, version: &Value, storage: bool) -> ServedKind {
    let name = |field: &str| text(definition, &format!("/spec/names/{field}")).to_owned();
    let names = |field: &str| {
        let names = items(definition, &format!("/spec/names/{field}")).iter();
        names.filter_map(Value::as_str).map(String::from).collect()
    };
    // The schema was checked when the definition was written.
    let schema = version
        .pointer("/schema/openAPIV3Schema")
        .map(Schema::from_json);
    let schema = schema.and_then(Result::ok).unwrap_or_else(Schema::anything);
    let mut verbs = vec![
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ];
    if meta::is_deleting(definition) {
        verbs.retain(|verb| *verb != "create");
    }
    ServedKind {
        group: text(definition, "/spec/group").into(),
        version: text(version, "/name").into(),
        kind: name("kind"),
        list_kind: name("listKind"),
        plural: name("plural"),
        singular: name("singular"),
        short_names: names("shortNames"),
        categories: names("categories"),
        namespaced: text(definition, "/spec/scope") == "Namespaced",
        verbs: verbs.into_iter().map(String::from).collect(),
        status: version.pointer("/subresources/status").is_some(),
        scale: version.pointer("/subresources/scale").map(scale),
        columns: items(version, "/additionalPrinterColumns")
            .iter()
            .map(column)
            .collect(),
        selectable_fields: selectable_fields::names(version),
        schema: SchemaSource::ready(schema),
        storage,
        converter: converter(definition).map(Arc::new),
        deprecated: flag(version, "/deprecated").then(|| deprecation(definition, version)),
        origin: Origin::Custom,
    }
}

/// The text of the definition, or that of `defaultDeprecationWarning` (k8s.io/apiextensions-apiserver), which names the newest version that
/// is not deprecated, if it is newer than this one.
fn deprecation(definition: &Value, version: &Value) -> String {
    if let Some(text) = version.get("deprecationWarning").and_then(Value::as_str) {
        return text.to_owned();
    }
    let (group, kind) = (
        text(definition, "/spec/group"),
        text(definition, "/spec/names/kind"),
    );
    let warning = format!("{group}/{} {kind} is deprecated", text(version, "/name"));
    let versions = items(definition, "/spec/versions").iter();
    let others = versions.filter(|one| flag(one, "/served") && !flag(one, "/deprecated"));
    let own = version_order::priority(text(version, "/name"));
    let newest = others
        .map(|one| text(one, "/name"))
        .filter(|name| version_order::priority(name) > own)
        .max_by_key(|name| version_order::priority(name));
    match newest {
        Some(newest) => format!("{warning}; use {group}/{newest} {kind}"),
        None => warning,
    }
}

/// The webhook of a definition that converts its objects.
fn converter(definition: &Value) -> Option<Converter> {
    if text(definition, "/spec/conversion/strategy") != "Webhook" {
        return None;
    }
    let mut versions = items(definition, "/spec/versions").iter();
    let stored = versions.find(|version| flag(version, "/storage"))?;
    Some(Converter {
        webhook: definition.pointer("/spec/conversion/webhook")?.clone(),
        stored_in: format!(
            "{}/{}",
            text(definition, "/spec/group"),
            text(stored, "/name")
        ),
    })
}

fn scale(scale: &Value) -> ScalePaths {
    let path = |field: &str| scale.get(field).and_then(Value::as_str).map(String::from);
    ScalePaths {
        spec: path("specReplicasPath").unwrap_or_default(),
        status: path("statusReplicasPath").unwrap_or_default(),
        selector: path("labelSelectorPath").filter(|path| !path.is_empty()),
    }
}

fn column(column: &Value) -> Column {
    let field = |name: &str| text(column, &format!("/{name}")).to_owned();
    let priority = column.get("priority").and_then(Value::as_i64);
    Column {
        name: field("name"),
        kind: field("type"),
        format: field("format"),
        description: field("description"),
        priority: priority
            .and_then(|priority| i32::try_from(priority).ok())
            .unwrap_or(0),
        json_path: field("jsonPath"),
    }
}
