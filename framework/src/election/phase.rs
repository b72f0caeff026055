/// What a process is in an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It waits for the lease.
    #[default]
    StandingBy,
    /// It leads.
    Leading,
    /// It led, and does not any more.
    Ended,
}
