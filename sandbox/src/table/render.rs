use jiff::Timestamp;
use serde_json::{Value, json};

use super::cells::{age, text};
use super::printer::{Printer, printer};
use super::storage::default_class;
use super::{JsonPath, custom, workload};
use crate::builtin;
use crate::registry::{Column, ServedKind};

/// The version of the group `meta.k8s.io` in which a client asks for a table or for metadata. Both have the same fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    V1,
    V1beta1,
}

impl MetaVersion {
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// What a client asks of a table.
#[derive(Clone, Copy)]
pub(crate) struct TableOptions {
    pub(crate) version: MetaVersion,
    pub(crate) include: Include,
}

/// A table with one row per object.
///
/// `metadata` is the metadata of the table: of the list, or the resource version of a single object. A watch sends one
/// table per event; `headings` is set for the first one only.
pub(crate) fn table<'a>(
    kind: &ServedKind,
    objects: impl IntoIterator<Item = &'a Value>,
    metadata: Value,
    options: TableOptions,
    headings: bool,
    now: Timestamp,
) -> Value {
    table_of(
        &Columns::of(kind),
        objects,
        metadata,
        options,
        headings,
        now,
    )
}

/// A table of a list: one of storage classes says which one new claims get.
pub(crate) fn list_table<'a>(
    kind: &ServedKind,
    objects: impl IntoIterator<Item = &'a Value, IntoIter: Clone>,
    metadata: Value,
    options: TableOptions,
    now: Timestamp,
) -> Value {
    let objects = objects.into_iter();
    let mut shown = table(kind, objects.clone(), metadata, options, true, now);
    let has_default = kind.group == "storage.k8s.io" && kind.plural == "storageclasses";
    if has_default
        && let Some(place) = default_class(objects)
        && let Some(Value::String(name)) = shown.pointer_mut(&format!("/rows/{place}/cells/0"))
    {
        name.push_str(" (default)");
    }
    shown
}

/// A table with the `scale` of an object of this kind.
pub(crate) fn scale_table(
    kind: &ServedKind,
    scale: &Value,
    metadata: Value,
    options: TableOptions,
    now: Timestamp,
) -> Value {
    let column = |name: &str, kind: &str, description: &str, path: &str| Column {
        name: name.into(),
        kind: kind.into(),
        format: String::new(),
        description: description.into(),
        json_path: path.into(),
        priority: 0,
    };
    let custom = [
        column(
            "Desired",
            "integer",
            "Number of desired replicas",
            ".spec.replicas",
        ),
        column(
            "Available",
            "integer",
            "Number of actual replicas",
            ".status.replicas",
        ),
        column(
            "Age",
            "date",
            age_description(),
            ".metadata.creationTimestamp",
        ),
    ];
    let columns = match kind.is_custom() {
        true => Columns::custom(&custom),
        false => Columns::BuiltIn(workload::SCALES, "autoscaling", "Scale"),
    };
    table_of(&columns, [scale], metadata, options, true, now)
}

fn table_of<'a>(
    columns: &Columns<'_>,
    objects: impl IntoIterator<Item = &'a Value>,
    metadata: Value,
    options: TableOptions,
    headings: bool,
    now: Timestamp,
) -> Value {
    let rows: Vec<Value> = objects
        .into_iter()
        .map(|object| {
            let mut row = json!({"cells": columns.cells(object, now)});
            match options.include {
                Include::Metadata => row["object"] = partial_metadata(object, options.version),
                Include::Object => row["object"] = object.clone(),
                Include::None => row["object"] = Value::Null,
            }
            row
        })
        .collect();
    let definitions = headings.then(|| columns.definitions());
    json!({
        "kind": "Table",
        "apiVersion": options.version.api_version(),
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    })
}

/// The metadata of an object as a `PartialObjectMetadata`.
pub(crate) fn partial_metadata(object: &Value, version: MetaVersion) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": version.api_version(),
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}

fn age_description() -> &'static str {
    builtin::column_description("", "", "Age")
}

enum Columns<'a> {
    /// The columns of a built-in kind, with its group and its name.
    BuiltIn(Printer, &'a str, &'a str),
    /// The columns with their paths. A path that cannot be read leaves its cells empty.
    Custom(Vec<(&'a Column, Option<JsonPath>)>),
    Age,
}

impl<'a> Columns<'a> {
    fn of(kind: &'a ServedKind) -> Self {
        match printer(kind) {
            Some(printer) => Self::BuiltIn(printer, &kind.group, &kind.kind),
            None if kind.columns.is_empty() => Self::Age,
            None => Self::custom(&kind.columns),
        }
    }

    fn custom(columns: &'a [Column]) -> Self {
        let columns = columns.iter();
        let columns = columns.map(|column| (column, JsonPath::parse(&column.json_path).ok()));
        Self::Custom(columns.collect())
    }

    fn begins_with_name(&self) -> bool {
        match self {
            Self::BuiltIn(printer, ..) => printer.named,
            Self::Custom(_) | Self::Age => true,
        }
    }

    fn definitions(&self) -> Vec<Value> {
        let mut all = Vec::new();
        if self.begins_with_name() {
            let (group, kind) = match self {
                Self::BuiltIn(_, group, kind) => (*group, *kind),
                Self::Custom(_) | Self::Age => ("", ""),
            };
            let described = builtin::column_description(group, kind, "Name");
            // A real server forgets the format here.
            let is_migration = group == "storagemigration.k8s.io";
            let format = if is_migration { "" } else { "name" };
            all.push(definition("Name", "string", format, described, 0));
        }
        match self {
            Self::BuiltIn(printer, group, of) => {
                all.extend(printer.columns.iter().map(|(name, kind, priority)| {
                    let is_name = matches!(*name, "Name" | "Attacher");
                    let format = if is_name { "name" } else { "" };
                    let described = builtin::column_description(group, of, name);
                    definition(name, kind, format, described, *priority)
                }))
            }
            Self::Custom(columns) => all.extend(columns.iter().map(|(column, _)| {
                let described = match column.description.as_str() {
                    "" => format!(
                        "Custom resource definition column (in JSONPath format): {}",
                        column.json_path
                    ),
                    given => given.to_owned(),
                };
                definition(
                    &column.name,
                    &column.kind,
                    &column.format,
                    &described,
                    column.priority,
                )
            })),
            Self::Age => all.push(definition("Age", "date", "", age_description(), 0)),
        }
        all
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let mut cells = Vec::new();
        if self.begins_with_name() {
            cells.push(Value::from(text(object, "/metadata/name")));
        }
        match self {
            Self::BuiltIn(printer, ..) => cells.extend((printer.cells)(object, now)),
            Self::Custom(columns) => cells.extend(
                columns
                    .iter()
                    .map(|(column, path)| custom::cell(column, path.as_ref(), object, now)),
            ),
            Self::Age => cells.push(age(object, now)),
        }
        cells
    }
}

fn definition(name: &str, kind: &str, format: &str, description: &str, priority: i32) -> Value {
    json!({
        "name": name,
        "type": kind,
        "format": format,
        "description": description,
        "priority": priority,
    })
}

/// The part of an object in a row, beside its cells: the query parameter `includeObject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Include {
    /// The metadata: the default.
    #[default]
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    None,
}

impl Include {
    /// Reads the query parameter. Empty is the default. Returns `None` for an unknown value.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "Object" => Some(Self::Object),
            "None" => Some(Self::None),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn with(include: Include) -> TableOptions {
        let version = MetaVersion::V1;
        TableOptions { version, include }
    }

    fn kind(plural: &str) -> Arc<ServedKind> {
        let mut kinds = builtin::kinds().into_iter();
        kinds.find(|kind| kind.plural == plural).unwrap()
    }

    fn cells(kind: &ServedKind, object: &Value) -> Vec<Value> {
        let now = "2026-01-01T00:05:30Z".parse().unwrap();
        let table = table(kind, [object], json!({}), with(Include::None), true, now);
        let (headings, row) = (&table["columnDefinitions"], &table["rows"][0]["cells"]);
        assert_eq!(
            headings.as_array().unwrap().len(),
            row.as_array().unwrap().len(),
            "{}",
            kind.plural
        );
        row.as_array().unwrap().clone()
    }

    #[test]
    fn every_built_in_kind_has_as_many_cells_as_headings_even_for_an_empty_object() {
        for kind in builtin::kinds() {
            cells(&kind, &json!({}));
        }
    }

    #[test]
    fn a_deployment_shows_how_many_replicas_are_ready() {
        let object = json!({
            "metadata": {"name": "web", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"spec": {"containers": [{"name": "c", "image": "nginx:1"}]}},
            },
            "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1},
        });
        assert_eq!(
            cells(&kind("deployments"), &object),
            [
                json!("web"),
                json!("2/3"),
                json!(3),
                json!(1),
                json!("5m30s"),
                json!("c"),
                json!("nginx:1"),
                json!("app=web"),
            ]
        );
    }

    #[test]
    fn a_disruption_budget_shows_its_limits_and_what_it_allows() {
        let budget = json!({
            "metadata": {"name": "b", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"minAvailable": "50%"},
            "status": {"disruptionsAllowed": 2},
        });
        assert_eq!(
            cells(&kind("poddisruptionbudgets"), &budget),
            [
                json!("b"),
                json!("50%"),
                json!("N/A"),
                json!(2),
                json!("5m30s")
            ]
        );
    }

    #[test]
    fn a_replication_controller_shows_its_selector_of_labels() {
        let controller =
            json!({"metadata": {"name": "c"}, "spec": {"replicas": 2, "selector": {"app": "web"}}});
        let cells = cells(&kind("replicationcontrollers"), &controller);
        assert_eq!((&cells[1], &cells[7]), (&json!(2), &json!("app=web")));
    }

    #[test]
    fn the_status_column_of_a_pod_shows_why_it_waits() {
        let mut object = json!({
            "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c"}]},
            "status": {
                "phase": "Pending",
                "containerStatuses": [{"ready": false, "state": {"waiting": {"reason": "ErrImagePull"}}}],
            },
        });
        assert_eq!(
            cells(&kind("pods"), &object)[1..3],
            [json!("0/1"), json!("ErrImagePull")]
        );
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(cells(&kind("pods"), &object)[2], "Terminating");
    }

    #[test]
    fn custom_columns_follow_their_paths_and_types() {
        let column = |name: &str, kind: &str, json_path: &str| Column {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: String::new(),
            description: String::new(),
            priority: 0,
            json_path: json_path.to_owned(),
        };
        let mut kind = ServedKind::clone(&kind("leases"));
        kind.origin = crate::registry::Origin::Custom;
        kind.columns = vec![
            column("Ready", "integer", ".status.ready"),
            column(
                "Phase",
                "string",
                ".status.conditions[?(@.type==\"Ready\")].status",
            ),
            column("Missing", "string", ".status.none"),
            column("Since", "date", ".metadata.creationTimestamp"),
            column("Wrong", "integer", ".metadata.name"),
        ];
        let headings = table(
            &kind,
            [],
            json!({}),
            with(Include::None),
            true,
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(
            headings["columnDefinitions"][1]["description"],
            "Custom resource definition column (in JSONPath format): .status.ready"
        );
        let object = json!({
            "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:05:00Z"},
            "status": {"ready": 2, "conditions": [{"type": "Ready", "status": "True"}]},
        });
        assert_eq!(
            cells(&kind, &object),
            [
                json!("a"),
                json!(2),
                json!("True"),
                Value::Null,
                json!("30s"),
                Value::Null
            ]
        );
    }

    #[test]
    fn the_name_of_an_event_is_its_last_column() {
        let event = json!({"metadata": {"name": "e"}, "reason": "R", "message": "M"});
        let cells = cells(&kind("events"), &event);
        assert_eq!((&cells[2], cells.last()), (&json!("R"), Some(&json!("e"))));
    }

    #[test]
    fn a_row_contains_the_part_of_the_object_that_the_request_asks_for() {
        let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
        let row = |include| {
            let now = Timestamp::UNIX_EPOCH;
            table(
                &kind("configmaps"),
                [&object],
                json!({}),
                with(include),
                false,
                now,
            )["rows"][0]
                .clone()
        };
        assert_eq!(row(Include::Object)["object"], object);
        assert_eq!(
            row(Include::Metadata)["object"]["kind"],
            "PartialObjectMetadata"
        );
        assert_eq!(row(Include::None)["object"], Value::Null);
    }
}
