use serde_json::{Map, Value};

use super::compare::{Comparison, compare};
use super::conflict::{Conflict, Conflicts};
use super::field_set::FieldSet;
use super::fields::{fields_of, with_named_parents};
use super::manager::Manager;
use super::managers::{Entry, Managers};
use super::options::ApplyOptions;
use super::remove::{WhenEmpty, remove};
use super::reset::{Endpoint, without_identity};
use super::versions::{Version, Versions};

/// Takes from all other managers the fields that a write removes and, if the write is forced, the fields that it
/// changes.
///
/// # Errors
/// [`Conflicts`] if the write is not forced and changes fields of other managers.
pub(super) fn take_from_others(
    versions: Versions<'_>,
    old: &Value,
    new: &Value,
    managers: &mut Managers,
    writer: Option<&Manager>,
    endpoint: &Endpoint,
    force: bool,
) -> Result<Comparison, Conflicts> {
    let found = endpoint.filter_all(compare(versions.own, old, new));
    let mut entries = managers.entries().values();
    let in_other = entries.find(|entry| versions.is_other(entry));
    let in_other = in_other.map(|entry| {
        let version = versions.of(entry);
        let [old, new] = [old, new].map(|object| version.convert(object));
        endpoint.filter_all(compare(version.typed, &old, &new))
    });
    // What the write changes, in the version of the manager.
    let seen = |entry: &Entry| match &in_other {
        Some(in_other) if versions.is_other(entry) => in_other,
        _ => &found,
    };
    let others = |manager: &Manager| Some(manager) != writer;
    let mut conflicts = Vec::new();
    for (manager, entry) in managers.entries() {
        if others(manager) {
            let both = entry.fields.intersection(&seen(entry).changed());
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
            let seen = seen(entry);
            let lost = entry.fields.intersection(&seen.changed());
            entry.fields = entry.fields.difference(&lost).difference(&seen.removed);
        }
    }
    managers.drop_empty();
    Ok(found)
}

/// Records a write other than an apply: changed fields also belong to the writer, removed fields to no manager.
pub(super) fn record_update(
    versions: Versions<'_>,
    old: &Value,
    new: &Value,
    managers: &mut Managers,
    writer: &Manager,
    options: &ApplyOptions,
) {
    let endpoint = Endpoint::of(options);
    // The writer is treated like the others and then gets back what it changed, so a forced write cannot fail.
    let Ok(found) = take_from_others(versions, old, new, managers, None, &endpoint, true) else {
        return;
    };
    let fields = without_identity(&endpoint.filter(&found.changed()));
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

/// The merged object without the fields that the applier dropped: it applied them before, does not apply them now, and no other manager owns them. Returns
/// `None` if there are none. `before` is the applier's last entry, and `managers` has its new one.
pub(super) fn pruned(
    versions: Versions<'_>,
    merged: &Value,
    before: &Entry,
    managers: &Managers,
) -> Option<Value> {
    let version = versions.of(before);
    let typed = version.typed;
    let merged = version.convert(merged);
    let last = with_named_parents(typed, &before.fields);
    // First remove everything that was applied before …
    let pruned = without(version, &merged, &last, WhenEmpty::Null);
    // … then add back what any manager owns, first in this version …
    let is_other = versions.is_other(before);
    let mut pruned = with_owned(
        version,
        &merged,
        &pruned,
        &managers.owned(|entry| versions.is_other(entry) == is_other),
    );
    let mut entries = managers.entries().values();
    if let Some(entry) = entries.find(|entry| versions.is_other(entry) != is_other) {
        let other = versions.of(entry);
        let owned = managers.owned(|entry| versions.is_other(entry) != is_other);
        let [whole, left] =
            [&merged, &pruned].map(|object| other.convert(&version.convert_back(object)));
        let left = with_owned(other, &whole, &left, &owned);
        pruned = version.convert(&other.convert_back(&left));
    }
    // … and what the applier never applied.
    let kept = with_named_parents(typed, &fields_of(typed, &pruned));
    let all = with_named_parents(typed, &fields_of(typed, &merged));
    let gone = all.difference(&kept).intersection(&last);
    // What goes through the other version is changed by that alone: lists may have another order.
    (!gone.is_empty() || is_other)
        .then(|| version.convert_back(&without(version, &merged, &gone, WhenEmpty::Absent)))
}

/// What is left of an object, and what of the rest is owned.
fn with_owned(version: Version<'_>, whole: &Value, left: &Value, owned: &FieldSet) -> Value {
    let named = |set: &FieldSet| with_named_parents(version.typed, set);
    let kept = named(&fields_of(version.typed, left)).union(&named(owned));
    let all = named(&fields_of(version.typed, whole));
    without(version, whole, &all.difference(&kept), WhenEmpty::Null)
}

fn without(version: Version<'_>, object: &Value, fields: &FieldSet, emptied: WhenEmpty) -> Value {
    let left = remove(version.typed, object, fields, emptied);
    left.unwrap_or_else(|| Value::Object(Map::new()))
}
