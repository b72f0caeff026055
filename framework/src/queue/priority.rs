/// How soon a key comes: keys of a higher priority come before keys of a lower one.
///
/// Within a priority, groups take turns, and the keys of a group come in the order in which they became ready. Lower
/// priorities do not starve: once one of their keys has been ready for 25 s, every second turn is theirs until none
/// of their keys is that old. A single key therefore waits for less than 30 s, however many keys of a higher priority
/// are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Nobody waits for it: the first list, a relist, a resync.
    Low,
    /// Something happened.
    #[default]
    Normal,
    /// A person waits for it.
    High,
}

impl Priority {
    /// Every priority, the lowest first.
    pub const ALL: [Self; 3] = [Self::Low, Self::Normal, Self::High];
}
