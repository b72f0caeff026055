use std::collections::BTreeMap;

use super::manager::{Manager, Operation};
use super::managers::{Managers, seconds};

/// How many managers with the operation `Update` keep an entry of their own.
const MAX_UPDATERS: usize = 10;

/// The manager into which the oldest entries are merged.
const OLD_CHANGES: &str = "ancient-changes";

/// Merges the oldest entries with the operation `Update`, per API version, until few enough are left.
pub(super) fn limit_updaters(managers: &mut Managers) {
    let updaters = managers
        .entries()
        .iter()
        .filter(|(manager, _)| manager.operation == Operation::Update);
    let mut left = updaters.clone().count();
    if left <= MAX_UPDATERS {
        return;
    }
    let mut updaters: Vec<(i64, String, Manager)> = updaters
        .map(|(manager, entry)| {
            let seconds = seconds(entry.time.as_deref());
            (seconds, manager.sort_key(), manager.clone())
        })
        .collect();
    updaters.sort();
    let mut first: BTreeMap<String, Manager> = BTreeMap::new();
    for (_, _, manager) in updaters {
        if left <= MAX_UPDATERS {
            return;
        }
        let entries = managers.entries_mut();
        let Some(version) = entries.get(&manager).map(|e| e.api_version.clone()) else {
            continue;
        };
        let bucket = Manager::new(OLD_CHANGES, Operation::Update, &version, None);
        let Some(earlier) = first.get(&version) else {
            first.insert(version, manager);
            continue;
        };
        if !entries.contains_key(&bucket)
            && let Some(entry) = entries.remove(earlier)
        {
            entries.insert(bucket.clone(), entry);
        }
        if manager != bucket
            && let Some(entry) = entries.remove(&manager)
            && let Some(joined) = entries.get_mut(&bucket)
        {
            joined.fields = joined.fields.union(&entry.fields);
            joined.time = entry.time;
            left -= 1;
        }
    }
}
