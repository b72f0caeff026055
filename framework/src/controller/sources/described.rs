use serde::Serialize;

use crate::{
    controller::{
        history::{changed_fields, whole},
        predicate::{Change, Version},
    },
    resource::Object,
};

/// A change as the debug page shows it: `ConfigMap default/a updated: data.b`.
pub(super) fn described<C: Object + Serialize>(
    kind: &str,
    change: &Change<'_, Version<'_, C>>,
) -> String {
    let key = change.last().key();
    format!("{kind} {key} {}", what_happened(change))
}

/// As [`described`], without the name of the object: `updated: data.b`.
pub(super) fn what_happened<C: Object + Serialize>(change: &Change<'_, Version<'_, C>>) -> String {
    let changed = |old: &Version<'_, C>, new: &Version<'_, C>| {
        let (old, new) = (whole(old.object()?)?, whole(new.object()?)?);
        Some(changed_fields(&old, &new).to_string())
    };
    match change {
        Change::Created { initial: true, .. } => "exists".into(),
        Change::Created { .. } => "created".into(),
        Change::Updated { old, new } => match changed(old, new) {
            Some(fields) => format!("updated: {fields}"),
            None => "updated".into(),
        },
        Change::DeletionBegan { .. } => "is being deleted".into(),
        Change::Deleted { .. } => "deleted".into(),
        Change::Resync { .. } => "unchanged".into(),
    }
}
