//! The maps and sets that snapshots are made of: clones share all but what differs.

use std::hash::Hash;

use archery::ArcTK;
use hashbrown::DefaultHashBuilder;
use rpds::{HashTrieMap, HashTrieSet};

pub(super) type Map<K, V> = HashTrieMap<K, V, ArcTK, DefaultHashBuilder>;
pub(super) type Set<T> = HashTrieSet<T, ArcTK, DefaultHashBuilder>;

/// Children of a node, at most. After a snapshot was shown, a change copies the nodes on its way, and counts one more
/// owner of each of their children: less of that weighs more than a way that is shorter by one step.
const DEGREE: u8 = 16;

pub(super) fn map<K: Eq + Hash, V>() -> Map<K, V> {
    HashTrieMap::new_with_hasher_and_degree_and_ptr_kind(DefaultHashBuilder::default(), DEGREE)
}

pub(super) fn set<T: Eq + Hash>() -> Set<T> {
    HashTrieSet::new_with_hasher_and_degree_and_ptr_kind(DefaultHashBuilder::default(), DEGREE)
}
