/// Where an event comes from.
///
/// Of a change that a list brings nobody knows how long ago it happened, and many may come at once: after an
/// outage, or when the server has forgotten what a watch is to go on from. What the watch brings has
/// happened just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// What was there before the listener came.
    Present,
    /// A list of the collection, or a [resync](super::Event::Resync). What happens while a list is read
    /// counts to it.
    List,
    /// The watch.
    Watch,
}
