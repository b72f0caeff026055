use serde_json::Value;

use super::compare::{Comparison, compare};
use super::conflict::{Conflict, Conflicts};
use super::field_set::FieldSet;
use super::fields::{fields_of, with_named_parents};
use super::manager::Manager;
use super::managers::{Entry, Managers};
use super::options::ApplyOptions;
use super::remove::{WhenEmpty, remove};
use super::reset::{Endpoint, without_identity};
use super::typed::Typed;

/// Takes from all other managers the fields that a write removes and, if the write is forced, the fields that it
/// changes.
///
/// # Errors
/// [`Conflicts`] if the write is not forced and changes fields of other managers.
pub(super) fn take_from_others(
    typed: Typed<'_>,
    old: &Value,
    new: &Value,
    managers: &mut Managers,
    writer: Option<&Manager>,
    endpoint: &Endpoint,
    force: bool,
) -> Result<Comparison, Conflicts> {
    let found = endpoint.filter_all(compare(typed, old, new));
    let changed = found.modified.union(&found.added);
    let others = |manager: &Manager| Some(manager) != writer;
    let mut conflicts = Vec::new();
    for (manager, entry) in managers.entries() {
        if others(manager) {
            let both = entry.fields.intersection(&changed);
            conflicts.extend(both.paths().into_iter().map(|path| Conflict {
                manager: manager.clone(),
                path,
            }));
        }
    }
    if !force && !conflicts.is_empty() {
        conflicts.sort_by_cached_key(|c| c.manager.sort_key());
        return Err(Conflicts(conflicts));
    }
    for (manager, entry) in managers.entries_mut() {
        if others(manager) {
            let lost = entry.fields.intersection(&changed);
            entry.fields = entry.fields.difference(&lost).difference(&found.removed);
        }
    }
    managers.drop_empty();
    Ok(found)
}

/// Records a write other than an apply: changed fields also belong to the writer, removed fields to no manager.
pub(super) fn record_update(
    typed: Typed<'_>,
    old: &Value,
    new: &Value,
    managers: &mut Managers,
    writer: &Manager,
    options: &ApplyOptions,
) {
    let endpoint = Endpoint::of(options);
    // The writer is treated like the others and then gets back what it changed, so a forced write cannot fail.
    let Ok(found) = take_from_others(typed, old, new, managers, None, &endpoint, true) else {
        return;
    };
    let changed = found.modified.union(&found.added);
    let fields = without_identity(&endpoint.filter(&changed));
    if fields.is_empty() {
        return;
    }
    let before = managers.fields(writer).cloned().unwrap_or_default();
    managers.entries_mut().insert(
        writer.clone(),
        Entry {
            fields: before.union(&fields),
            api_version: options.api_version.clone(),
            time: Some(options.time_text()),
        },
    );
}

/// Removes from the merged object the fields that the applier dropped: it applied them before, does not apply them now,
/// and no other manager owns them.
pub(super) fn dropped(
    typed: Typed<'_>,
    merged: &Value,
    last: &FieldSet,
    owned: &FieldSet,
) -> FieldSet {
    let named = |set: &FieldSet| with_named_parents(typed, set);
    let empty = Value::Object(Default::default());
    let all = named(&fields_of(typed, merged));
    let last = named(last);
    // First remove everything that was applied before …
    let pruned = remove(typed, merged, &last, WhenEmpty::Null).unwrap_or_else(|| empty.clone());
    // … then add back what any manager owns …
    let kept = named(&fields_of(typed, &pruned)).union(&named(owned));
    let pruned = remove(typed, merged, &all.difference(&kept), WhenEmpty::Null).unwrap_or(empty);
    // … and what the applier never applied.
    let kept = named(&fields_of(typed, &pruned));
    all.difference(&kept).intersection(&last)
}
