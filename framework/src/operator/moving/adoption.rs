use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use serde_json::{Value, json};

use super::field_set::{present_in, union};
use crate::{controller::APPLIED_ANNOTATION, resource::ObjectMeta};

const APPLY: &str = "Apply";
const UPDATE: &str = "Update";

/// Takes over the fields of one field manager, and its finalizers.
pub(super) struct Adoption<'a> {
    /// The field manager of the operator before.
    pub(super) manager: &'a str,
    /// This operator.
    pub(super) operator: &'a str,
}

/// Which part of an object is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All fields.
    Whole,
    /// Only fields that were written through the subresource `status`.
    Status,
    /// No field.
    Nothing,
}

/// A finalizer and the one that replaces it.
pub(super) type Exchange = (String, String);

/// The change of one object.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Change {
    managed_fields: Option<Vec<ManagedFieldsEntry>>,
    finalizers: Option<Vec<String>>,
    /// Whether the mark of the last apply is removed, because that apply wrote fewer fields than this operator owns now.
    forgets_apply: bool,
    /// What changes, for people.
    pub(super) steps: Vec<String>,
    /// What cannot change, for people.
    pub(super) problems: Vec<String>,
}

impl Change {
    /// The change as a merge patch that is refused if the object has changed since it was read.
    pub(super) fn patch(&self, object: &ObjectMeta) -> Value {
        let mut metadata = json!({
            "uid": object.uid,
            "resourceVersion": object.resource_version,
        });
        if let Some(managed_fields) = &self.managed_fields {
            metadata["managedFields"] = json!(managed_fields);
        }
        if let Some(finalizers) = &self.finalizers {
            metadata["finalizers"] = json!(finalizers);
        }
        if self.forgets_apply {
            metadata["annotations"] = json!({APPLIED_ANNOTATION: null});
        }
        json!({"metadata": metadata})
    }

    pub(super) fn is_empty(&self) -> bool {
        self.managed_fields.is_none() && self.finalizers.is_none()
    }
}

impl Adoption<'_> {
    /// Whether the object has fields of the former manager, in any part.
    pub(super) fn finds_fields(&self, object: &ObjectMeta) -> bool {
        entries(object).iter().any(|entry| self.is_former(entry))
    }

    /// Whether this operator has applied the object.
    pub(super) fn has_applied(&self, object: &ObjectMeta) -> bool {
        let mut entries = entries(object).iter();
        entries.any(|entry| self.is_own(entry) && subresource(entry).is_empty())
    }

    /// Whether entries that are merged have fields in several API versions. Then [`change`](Self::change) needs the whole object.
    pub(super) fn has_several_versions(&self, object: &ObjectMeta, part: Part) -> bool {
        let mut merged = self.subresources(object, part).into_iter();
        merged.any(|subresource| {
            let versions = self.merged(object, subresource);
            let versions: BTreeSet<_> = versions.map(|entry| &entry.api_version).collect();
            versions.len() > 1
        })
    }

    /// What has to change in the object. `whole` is the object in the API version `version`; it matters only if the object
    /// [has several versions](Self::has_several_versions).
    pub(super) fn change(
        &self,
        object: &ObjectMeta,
        part: Part,
        exchanges: &[Exchange],
        version: &str,
        whole: &Value,
    ) -> Change {
        let mut change = Change::default();
        for subresource in self.subresources(object, part) {
            let present = change.managed_fields.as_deref().unwrap_or(entries(object));
            let (merged, mut others): (Vec<_>, Vec<_>) = present
                .iter()
                .cloned()
                .partition(|entry| self.is_merged(entry, subresource));
            for entry in merged.iter().filter(|entry| self.is_former(entry)) {
                change.steps.push(describe(entry));
            }
            let own = merged.iter().find(|entry| self.is_own(entry));
            let before = own.map(fields);
            let all = self.merge(&merged, version, whole);
            if subresource.is_empty() && before.is_some_and(|before| before != fields(&all)) {
                let annotations = object.annotations.as_ref();
                change.forgets_apply =
                    annotations.is_some_and(|all| all.contains_key(APPLIED_ANNOTATION));
            }
            others.insert(0, all);
            change.managed_fields = Some(others);
        }
        exchange(object, exchanges, &mut change);
        change
    }

    /// The subresources with entries of the former manager.
    fn subresources<'a>(&self, object: &'a ObjectMeta, part: Part) -> BTreeSet<&'a str> {
        let former = entries(object).iter().filter(|entry| self.is_former(entry));
        former
            .map(subresource)
            .filter(|subresource| match part {
                Part::Whole => true,
                Part::Status => *subresource == "status",
                Part::Nothing => false,
            })
            .collect()
    }

    /// The entries of a subresource that become one.
    fn merged<'a>(
        &self,
        object: &'a ObjectMeta,
        subresource: &str,
    ) -> impl Iterator<Item = &'a ManagedFieldsEntry> {
        let all = entries(object).iter();
        all.filter(move |entry| self.is_merged(entry, subresource))
    }

    fn is_merged(&self, entry: &ManagedFieldsEntry, of: &str) -> bool {
        subresource(entry) == of && (self.is_former(entry) || self.is_own(entry))
    }

    fn is_former(&self, entry: &ManagedFieldsEntry) -> bool {
        let operation = entry.operation.as_deref();
        entry.manager.as_deref() == Some(self.manager) && matches!(operation, Some(APPLY | UPDATE))
    }

    /// Whether this is the entry of this operator's server-side apply.
    fn is_own(&self, entry: &ManagedFieldsEntry) -> bool {
        entry.manager.as_deref() == Some(self.operator) && entry.operation.as_deref() == Some(APPLY)
    }

    /// One entry of this operator's server-side apply with the fields of all entries, which have the same subresource.
    ///
    /// A field set belongs to an API version. If the versions differ, the entry gets that of `whole`, and of a set in another version
    /// only the fields count that `whole` has.
    fn merge(
        &self,
        entries: &[ManagedFieldsEntry],
        version: &str,
        whole: &Value,
    ) -> ManagedFieldsEntry {
        let versions: BTreeSet<_> = entries.iter().map(|entry| &entry.api_version).collect();
        let version = match Vec::from_iter(versions)[..] {
            [Some(only)] => only.as_str(),
            _ => version,
        };
        let mut all = json!({});
        for entry in entries {
            let set = match entry.api_version.as_deref() == Some(version) {
                true => fields(entry),
                false => present_in(&fields(entry), whole),
            };
            all = union(all, set);
        }
        let newest = entries.iter().filter_map(|entry| entry.time.clone()).max();
        ManagedFieldsEntry {
            manager: Some(self.operator.to_owned()),
            operation: Some(APPLY.to_owned()),
            api_version: Some(version.to_owned()),
            fields_type: Some("FieldsV1".to_owned()),
            fields_v1: Some(FieldsV1(all)),
            subresource: entries.iter().find_map(|entry| entry.subresource.clone()),
            time: newest,
        }
    }
}

/// Replaces each former finalizer, in its position. The API server accepts no new finalizer on an object that is being deleted.
fn exchange(object: &ObjectMeta, exchanges: &[Exchange], change: &mut Change) {
    let present = object.finalizers.as_deref().unwrap_or_default();
    let mut finalizers = present.to_vec();
    for (former, new) in exchanges {
        let Some(position) = finalizers.iter().position(|one| one == former) else {
            continue;
        };
        if finalizers.contains(new) {
            finalizers.retain(|one| one != former);
        } else if object.deletion_timestamp.is_some() {
            change.problems.push(format!(
                "the object is being deleted, and then the API server accepts no new finalizer in place of {former}: let the \
                 former operator finish the deletion, or declare {former} itself by `Controller::finalizer`"
            ));
            continue;
        } else {
            finalizers[position].clone_from(new);
        }
        change
            .steps
            .push(format!("finalizer {former} becomes {new}"));
    }
    if finalizers != present {
        change.finalizers = Some(finalizers);
    }
}

fn entries(object: &ObjectMeta) -> &[ManagedFieldsEntry] {
    object.managed_fields.as_deref().unwrap_or_default()
}

fn subresource(entry: &ManagedFieldsEntry) -> &str {
    entry.subresource.as_deref().unwrap_or_default()
}

fn fields(entry: &ManagedFieldsEntry) -> Value {
    let fields = entry.fields_v1.as_ref();
    fields.map_or_else(|| json!({}), |fields| fields.0.clone())
}

fn describe(entry: &ManagedFieldsEntry) -> String {
    let operation = match entry.operation.as_deref() {
        Some(APPLY) => "applied fields",
        _ => "updated fields",
    };
    match subresource(entry) {
        "" => operation.to_owned(),
        subresource => format!("{operation} of {subresource}"),
    }
}
