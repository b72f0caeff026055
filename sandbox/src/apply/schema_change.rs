use super::field_set::FieldSet;
use super::managers::Managers;
use super::typed::{Atom, Typed};
use super::versions::Versions;

/// Adapts ownership to a schema that changed since the fields were recorded. A field that became atomic is owned as a
/// whole. A field that became granular counts as if it had always been granular.
pub(super) fn reconcile(versions: Versions<'_>, managers: &mut Managers) {
    for entry in managers.entries_mut().values_mut() {
        entry.fields = below(versions.of(entry).typed, &entry.fields);
    }
}

fn below(typed: Typed<'_>, set: &FieldSet) -> FieldSet {
    let mut out = FieldSet::new();
    for element in set.members() {
        out.insert_member(element.clone());
    }
    for (element, child) in set.children() {
        let step = typed.step(element);
        if is_atomic(step) {
            out.insert_member(element.clone());
        } else {
            out.insert_child(element.clone(), below(step, child));
        }
    }
    out
}

/// Whether the schema makes the place atomic. Where the schema allows any type, ownership stays as it is.
fn is_atomic(typed: Typed<'_>) -> bool {
    if typed.is_open() {
        return false;
    }
    match typed.atom(None) {
        Atom::Scalar => false,
        Atom::List => typed.is_atomic_list(),
        Atom::Map => typed.is_atomic_map(),
    }
}
