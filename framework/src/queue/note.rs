/// What is known of why a key waits.
///
/// A key has one note however often it is added: each further one is merged into it, and whoever
/// gets the key gets the note with it. The default is the note of a key of which nothing is known;
/// merging it changes nothing.
pub trait Note: Default + Send + 'static {
    /// Takes in what is known from a later add. Called under the queue's lock: it must be quick,
    /// and it must not panic.
    fn merge(&mut self, later: Self);
}

/// Nothing is noted.
impl Note for () {
    fn merge(&mut self, (): Self) {}
}
