use crate::resource::Status;

/// The answer to a deletion.
#[derive(Clone, Debug)]
pub enum Deleted<K> {
    /// Deletion has begun: the object as it is now, waiting for its grace period or its finalizers.
    Deleting(Box<K>),
    /// The object is gone; some kinds answer this form, others the object's last state as
    /// [`Deleting`](Self::Deleting).
    Done(Box<Status>),
}

impl<K> Deleted<K> {
    /// The object, where the server answered it.
    pub fn object(self) -> Option<K> {
        match self {
            Self::Deleting(object) => Some(*object),
            Self::Done(_) => None,
        }
    }
}
