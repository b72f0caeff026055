use hashbrown::{HashTable, hash_table::Entry};

/// The groups that keys belong to, each with a number. A number is free again when the last key of its group has
/// left.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: Vec<Group>,
    free: Vec<u32>,
    index: HashTable<u32>,
}

#[derive(Debug)]
struct Group {
    hash: u64,
    keys: usize,
}

impl Groups {
    /// Adds a key to the group whose name has this hash, and returns the number of the group.
    ///
    /// Two names with the same hash would share their turns. That does no harm, and it hardly ever happens.
    pub(super) fn join(&mut self, hash: u64) -> u32 {
        let Self {
            groups,
            free,
            index,
        } = self;
        let same = |number: &u32| groups[*number as usize].hash == hash;
        let entry = index.entry(hash, same, |number| groups[*number as usize].hash);
        let number = match entry {
            Entry::Occupied(number) => *number.get(),
            Entry::Vacant(vacant) => {
                let number = free.pop().unwrap_or(groups.len() as u32);
                vacant.insert(number);
                let group = Group { hash, keys: 0 };
                match groups.get_mut(number as usize) {
                    Some(empty) => *empty = group,
                    None => groups.push(group),
                }
                number
            }
        };
        groups[number as usize].keys += 1;
        number
    }

    /// The hash of the name of the group.
    pub(super) fn hash(&self, number: u32) -> u64 {
        self.groups[number as usize].hash
    }

    /// Removes a key from the group.
    pub(super) fn leave(&mut self, number: u32) {
        let group = &mut self.groups[number as usize];
        group.keys -= 1;
        if group.keys > 0 {
            return;
        }
        let found = self.index.find_entry(group.hash, |other| *other == number);
        if let Ok(entry) = found {
            entry.remove();
        }
        self.free.push(number);
        if self.index.is_empty() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_number_stays_while_a_key_has_it_and_is_reused_after_that() {
        let mut groups = Groups::default();
        let (a, b) = (groups.join(7), groups.join(8));
        assert_ne!(a, b);
        assert_eq!((groups.join(7), groups.join(8)), (a, b));
        groups.leave(a);
        assert_eq!(groups.join(7), a);
        groups.leave(a);
        groups.leave(a);
        assert_eq!((groups.join(9), groups.join(8)), (a, b));
    }

    #[test]
    fn groups_without_keys_take_no_memory() {
        let mut groups = Groups::default();
        let numbers: Vec<_> = (0..100).map(|hash| groups.join(hash)).collect();
        numbers.into_iter().for_each(|number| groups.leave(number));
        assert_eq!(groups.groups.capacity() + groups.free.capacity(), 0);
    }
}
