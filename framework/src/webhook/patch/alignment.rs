use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// One step from a list to a changed list. Numbers are places in the old and in the new list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The item stays. It may have changed inside.
    Keep(usize, usize),
    /// The item of the old list is gone.
    Remove(usize),
    /// The item of the new list is new.
    Insert(usize),
}

/// The most pairs of items that are compared. Beyond that only names are compared.
const MOST_PAIRS: usize = 250_000;

/// The costs that decide between alignments. A changed item without a name costs less than its removal and insertion.
const CHANGED: u32 = 3;
const RENAMED: u32 = 5;
const SAME_NAME: u32 = 1;
const REMOVED: u32 = 2;
const INSERTED: u32 = 2;

/// Which items of the two lists are the same item, in the order of both lists.
///
/// Equal items and items of the same `name` are the same. Items with different names never are, because fields that only the API
/// server knows would move from one to the other. For the same reason an item that has an equal one elsewhere is no changed item: it has
/// moved.
pub(super) fn alignment(old: &[Value], new: &[Value]) -> Vec<Step> {
    let same_start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same_start;
    let ends = old.iter().rev().zip(new.iter().rev());
    let same_end = ends.take(rest).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (
        &old[same_start..old.len() - same_end],
        &new[same_start..new.len() - same_end],
    );
    let middle = match old_middle.len() * new_middle.len() > MOST_PAIRS {
        true => by_name(old_middle, new_middle),
        false => cheapest(old_middle, new_middle),
    };
    let start = (0..same_start).map(|place| Step::Keep(place, place));
    let middle = middle.into_iter().map(|step| match step {
        Step::Keep(old, new) => Step::Keep(old + same_start, new + same_start),
        Step::Remove(old) => Step::Remove(old + same_start),
        Step::Insert(new) => Step::Insert(new + same_start),
    });
    let end = (0..same_end).rev();
    let end = end.map(|back| Step::Keep(old.len() - 1 - back, new.len() - 1 - back));
    start.chain(middle).chain(end).collect()
}

/// The alignment of the least cost, by dynamic programming over all pairs.
fn cheapest(old: &[Value], new: &[Value]) -> Vec<Step> {
    let width = new.len() + 1;
    let known = Known::of(old, new);
    let mut costs = vec![0_u32; (old.len() + 1) * width];
    for (o, n) in pairs(old.len(), new.len()) {
        costs[o * width + n] = match (o, n) {
            (0, 0) => 0,
            _ => {
                let (cost, _) = best(&costs, width, (old, new, &known), o, n);
                cost
            }
        };
    }
    let (mut o, mut n) = (old.len(), new.len());
    let mut steps = Vec::new();
    while (o, n) != (0, 0) {
        let (_, step) = best(&costs, width, (old, new, &known), o, n);
        steps.push(step);
        match step {
            Step::Keep(..) => (o, n) = (o - 1, n - 1),
            Step::Remove(_) => o -= 1,
            Step::Insert(_) => n -= 1,
        }
    }
    steps.reverse();
    steps
}

fn pairs(old: usize, new: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..=old).flat_map(move |o| (0..=new).map(move |n| (o, n)))
}

/// The last step of the cheapest way to the first `o` old and the first `n` new items.
fn best(
    costs: &[u32],
    width: usize,
    (old, new, known): (&[Value], &[Value], &Known),
    o: usize,
    n: usize,
) -> (u32, Step) {
    let at = |o: usize, n: usize| costs[o * width + n];
    let keep = (o > 0 && n > 0).then(|| {
        let change = match old[o - 1] == new[n - 1] {
            true => 0,
            false if known.old[o - 1] || known.new[n - 1] => RENAMED,
            false => change_cost(&old[o - 1], &new[n - 1]),
        };
        let cost = at(o - 1, n - 1) + change;
        (cost, Step::Keep(o - 1, n - 1))
    });
    let remove = (o > 0).then(|| (at(o - 1, n) + REMOVED, Step::Remove(o - 1)));
    let insert = (n > 0).then(|| (at(o, n - 1) + INSERTED, Step::Insert(n - 1)));
    let steps = [keep, remove, insert].into_iter().flatten();
    // The caller asks for at least one item.
    steps
        .min_by_key(|(cost, _)| *cost)
        .unwrap_or((0, Step::Keep(0, 0)))
}

/// Which items have an equal one in the other list.
struct Known {
    old: Vec<bool>,
    new: Vec<bool>,
}

impl Known {
    fn of(old: &[Value], new: &[Value]) -> Self {
        let texts = |items: &[Value]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (old, new) = (texts(old), texts(new));
        let within = |items: &[String], others: &[String]| {
            let others: HashSet<&String> = others.iter().collect();
            items.iter().map(|item| others.contains(item)).collect()
        };
        Self {
            old: within(&old, &new),
            new: within(&new, &old),
        }
    }
}

/// The cost of keeping an item that has changed.
fn change_cost(old: &Value, new: &Value) -> u32 {
    match (name(old), name(new)) {
        (None, None) => CHANGED,
        (old, new) if old == new => SAME_NAME,
        // More than a removal and an insertion.
        _ => RENAMED,
    }
}

/// The name of an item of a list.
pub(super) fn name(item: &Value) -> Option<&str> {
    item.get("name")?.as_str()
}

/// An alignment of long lists in one pass: an item is kept if the rest of the new list has its name, or an equal item.
fn by_name(old: &[Value], new: &[Value]) -> Vec<Step> {
    let identity = |item: &Value| match name(item) {
        Some(name) => format!("n{name}"),
        None => format!("v{item}"),
    };
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, item) in new.iter().enumerate().rev() {
        places.entry(identity(item)).or_default().push(place);
    }
    let (mut steps, mut next) = (Vec::new(), 0);
    for (place, item) in old.iter().enumerate() {
        let found = places.get_mut(&identity(item)).and_then(|places| {
            // The first place that is still ahead.
            while places.last().is_some_and(|place| *place < next) {
                places.pop();
            }
            places.pop()
        });
        match found {
            Some(found) => {
                steps.extend((next..found).map(Step::Insert));
                steps.push(Step::Keep(place, found));
                next = found + 1;
            }
            None => steps.push(Step::Remove(place)),
        }
    }
    steps.extend((next..new.len()).map(Step::Insert));
    steps
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_of_one_name_are_one_item_wherever_they_stand() {
        let old = [json!({"name": "a"}), json!({"name": "b"})];
        let new = [
            json!({"name": "x"}),
            json!({"name": "a", "image": "1"}),
            json!({"name": "b"}),
        ];
        let expected = [Step::Insert(0), Step::Keep(0, 1), Step::Keep(1, 2)];
        assert_eq!(alignment(&old, &new), expected);
    }

    #[test]
    fn an_item_never_becomes_one_of_another_name() {
        let (old, new) = (
            [json!({"name": "a", "x": 1})],
            [json!({"name": "b", "x": 1})],
        );
        let mut steps = alignment(&old, &new);
        steps.sort_by_key(|step| matches!(step, Step::Insert(_)));
        assert_eq!(steps, [Step::Remove(0), Step::Insert(0)]);
    }

    #[test]
    fn lists_too_long_for_all_pairs_are_aligned_by_name() {
        let items = |range: std::ops::Range<usize>, extra: usize| -> Vec<Value> {
            let items = range.map(|number| json!({"name": number.to_string(), "x": extra}));
            items.collect()
        };
        let steps = alignment(&items(0..1000, 0), &items(1..1001, 1));
        let kept = steps.iter().filter(|step| matches!(step, Step::Keep(..)));
        assert_eq!(kept.count(), 999);
        assert_eq!(steps.first(), Some(&Step::Remove(0)));
        assert_eq!(steps.last(), Some(&Step::Insert(999)));
    }
}
