/// How soon a key has its turn: one of a higher priority is taken before one of a lower.
///
/// Within a priority, groups take turns and the keys of a group come in the order in which they
/// became ready. Lower priorities do not starve: once a key of theirs has been ready for 25 s,
/// every second turn is theirs until none is that old, so that a single one waits for less than
/// 30 s however many of a higher priority keep coming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Nobody waits for it: the first list, a relist, a resync.
    Low,
    /// Something happened.
    #[default]
    Normal,
    /// Somebody waits for it.
    High,
}

impl Priority {
    /// Every priority, the lowest first.
    pub const ALL: [Self; 3] = [Self::Low, Self::Normal, Self::High];
}
