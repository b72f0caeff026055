/// What is known about why a key waits.
///
/// A key has one note, however often it is added: the queue merges each further note into it, and the worker that
/// takes the key gets the merged note. The default is the empty note; merging it must change nothing.
pub trait Note: Default + Send + 'static {
    /// Merges the note of a later add into this one. The queue calls it under its lock: it must be quick and must not
    /// panic.
    fn merge(&mut self, later: Self);
}

/// No note.
impl Note for () {
    fn merge(&mut self, (): Self) {}
}
