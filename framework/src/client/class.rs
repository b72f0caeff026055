/// What a request is, as far as connections and deadlines care. Each class has connections of its
/// own: a server allows a limited number of streams on one, and they share its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Answered and done.
    Request,
    /// Goes on until one side ends it.
    Watch,
    /// Leaves HTTP behind when it is answered: a connection of its own, never sent again.
    Upgrade,
}
