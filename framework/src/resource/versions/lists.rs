use serde_json::Value;

/// The fields that identify the item of a list, in this order.
const IDENTITIES: [&str; 4] = ["name", "type", "key", "id"];

/// For each item of a list the index of the item from which it came by a conversion there and back.
///
/// Items with the same identity are the same. Without identities a list of the same length has its items in their places.
pub(super) fn origins(returned: &[Value], whole: &[Value]) -> Vec<Option<usize>> {
    if identity(returned, whole).is_none() && returned.len() == whole.len() {
        return (0..returned.len()).map(Some).collect();
    }
    same(returned, whole)
}

/// For each item of a list the index of the same item after somebody may have changed the list.
///
/// Items with the same identity are the same; those without one are the same if they are equal. If all others are found, the one
/// that is left in a list of the same length was changed in its place.
pub(super) fn found_again(before: &[Value], after: &[Value]) -> Vec<Option<usize>> {
    let mut found = same(before, after);
    let mut missing = (0..before.len()).filter(|index| found[*index].is_none());
    if let (Some(only), None) = (missing.next(), missing.next())
        && before.len() == after.len()
        && identity(before, after).is_none()
        && !found.contains(&Some(only))
    {
        found[only] = Some(only);
    }
    found
}

fn same(one: &[Value], other: &[Value]) -> Vec<Option<usize>> {
    let identity = identity(one, other);
    let mut taken = vec![false; other.len()];
    let find = |item: &Value| {
        let is_same = |candidate: &Value| match identity {
            Some(field) => candidate[field] == item[field],
            None => candidate == item,
        };
        let found = (0..other.len()).find(|at| !taken[*at] && is_same(&other[*at]))?;
        taken[found] = true;
        Some(found)
    };
    one.iter().map(find).collect()
}

/// The field that identifies the items of both lists.
fn identity(one: &[Value], other: &[Value]) -> Option<&'static str> {
    let mut fields = IDENTITIES.into_iter();
    fields.find(|field| is_unique(one, field) && is_unique(other, field))
}

/// Whether each item has a text of its own in this field.
fn is_unique(items: &[Value], field: &str) -> bool {
    let texts: Option<Vec<&str>> = items.iter().map(|item| item[field].as_str()).collect();
    texts.is_some_and(|mut texts| {
        texts.sort_unstable();
        texts.windows(2).all(|pair| pair[0] != pair[1])
    })
}
