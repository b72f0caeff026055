use serde_json::Value;

use super::compare::{Comparison, compare};
use super::conflict::{Conflict, Conflicts};
use super::field_set::FieldSet;
use super::fields::{fields_of, with_named_parents};
use super::manager::Manager;
use super::managers::{Entry, Managers};
use super::options::ApplyOptions;
use super::remove::{Emptied, remove};
use super::reset::{Endpoint, without_identity};
use super::typed::Typed;

/// What all others lose by a write: fields that it changes, if forced, and fields that it removes.
pub(super) fn settle(
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

/// What a write other than apply does to ownership: what changed belongs to the writer too, what went away to nobody.
pub(super) fn record_update(
    typed: Typed<'_>,
    old: &Value,
    new: &Value,
    managers: &mut Managers,
    writer: &Manager,
    options: &ApplyOptions,
) {
    let endpoint = Endpoint::of(options);
    // The writer is settled like everybody else and gets back what it changed: so a forced settlement cannot fail.
    let Ok(found) = settle(typed, old, new, managers, None, &endpoint, true) else {
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

/// The fields of the merged object that the applier dropped: those it applied before, does not apply now, and nobody
/// else owns.
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
    // Without everything applied before …
    let pruned = remove(typed, merged, &last, Emptied::Null).unwrap_or_else(|| empty.clone());
    // … but with what somebody owns …
    let kept = named(&fields_of(typed, &pruned)).union(&named(owned));
    let pruned = remove(typed, merged, &all.difference(&kept), Emptied::Null).unwrap_or(empty);
    // … and with what the applier never applied.
    let kept = named(&fields_of(typed, &pruned));
    all.difference(&kept).intersection(&last)
}
