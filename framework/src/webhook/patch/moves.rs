use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::alignment::{Step, alignment, name};

/// Which inserted items of a list were removed elsewhere in it, so that they have moved.
pub(super) struct Moves(HashMap<usize, usize>);

impl Moves {
    /// An inserted item is a removed one if both are equal, or else if both have the same `name`. An item without a name that is
    /// moved and changed at once is a new item: nothing tells which one it was.
    pub(super) fn of(steps: &[Step], before: &[Value], after: &[Value]) -> Self {
        let removed = steps.iter().filter_map(|step| match step {
            Step::Remove(old) => Some(*old),
            _ => None,
        });
        let inserted = steps.iter().filter_map(|step| match step {
            Step::Insert(new) => Some(*new),
            _ => None,
        });
        let (removed, inserted): (Vec<_>, Vec<_>) = (removed.collect(), inserted.collect());
        let mut moves = HashMap::new();
        if removed.is_empty() || inserted.is_empty() {
            return Self(moves);
        }
        let mut is_taken = vec![false; before.len()];
        let equal = |item: &Value| Some(item.to_string());
        let named = |item: &Value| name(item).map(str::to_owned);
        for identity in [&equal as &dyn Fn(&Value) -> Option<String>, &named] {
            let mut places: HashMap<String, VecDeque<usize>> = HashMap::new();
            for old in removed.iter().filter(|old| !is_taken[**old]) {
                if let Some(identity) = identity(&before[*old]) {
                    places.entry(identity).or_default().push_back(*old);
                }
            }
            for new in &inserted {
                if moves.contains_key(new) {
                    continue;
                }
                let places = identity(&after[*new]).and_then(|one| places.get_mut(&one));
                if let Some(old) = places.and_then(VecDeque::pop_front) {
                    is_taken[old] = true;
                    moves.insert(*new, old);
                }
            }
        }
        Self(moves)
    }

    /// The place in the old list of the item that is inserted at this place of the new list. `None` if it is a new item.
    pub(super) fn origin(&self, new: usize) -> Option<usize> {
        self.0.get(&new).copied()
    }
}

/// For each item of the new list its place in the old one. `None` for a new item.
pub(super) fn origins(before: &[Value], after: &[Value]) -> Vec<Option<usize>> {
    let steps = alignment(before, after);
    let moves = Moves::of(&steps, before, after);
    let origins = steps.iter().filter_map(|step| match step {
        Step::Keep(old, _) => Some(Some(*old)),
        Step::Insert(new) => Some(moves.origin(*new)),
        Step::Remove(_) => None,
    });
    // The steps are in the order of the new list.
    origins.collect()
}
