use std::sync::Arc;

use super::Bucket;

/// The buckets of a table, in groups. A clone copies nothing. The first change after it copies one group and the list of the
/// groups.
pub(super) struct Buckets<V>(Arc<Vec<Group<V>>>);

/// Only the last group may have fewer than [`Buckets::GROUP`] buckets, and it has one at least.
type Group<V> = Arc<Vec<Arc<Bucket<V>>>>;

impl<V> Buckets<V> {
    /// With 160 000 rows there are as many groups as buckets in a group.
    const GROUP: usize = 64;

    pub(super) fn len(&self) -> usize {
        let last = self.0.last().map_or(0, |group| group.len());
        self.0.len().saturating_sub(1) * Self::GROUP + last
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Bucket<V>> {
        let buckets = self.0.iter().flat_map(|group| group.iter());
        buckets.map(|bucket| &**bucket)
    }

    pub(super) fn get(&self, index: usize) -> Option<&Bucket<V>> {
        let group = self.0.get(index / Self::GROUP)?;
        group.get(index % Self::GROUP).map(|bucket| &**bucket)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Arc<Bucket<V>>> {
        let group = Arc::make_mut(&mut self.0).get_mut(index / Self::GROUP)?;
        Arc::make_mut(group).get_mut(index % Self::GROUP)
    }

    pub(super) fn push(&mut self, bucket: Bucket<V>) {
        let groups = Arc::make_mut(&mut self.0);
        match groups.last_mut() {
            Some(group) if group.len() < Self::GROUP => Arc::make_mut(group).push(Arc::new(bucket)),
            _ => groups.push(Arc::new(vec![Arc::new(bucket)])),
        }
    }

    pub(super) fn pop(&mut self) -> Option<Arc<Bucket<V>>> {
        let groups = Arc::make_mut(&mut self.0);
        let last = groups.last_mut()?;
        let bucket = Arc::make_mut(last).pop();
        if last.is_empty() {
            groups.pop();
        }
        bucket
    }
}

impl<V> Default for Buckets<V> {
    /// One empty bucket.
    fn default() -> Self {
        Self(Arc::new(vec![Arc::new(vec![Arc::default()])]))
    }
}

impl<V> Clone for Buckets<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
