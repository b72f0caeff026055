use crate::resource::Status;

/// The answer to a deletion.
#[derive(Clone, Debug)]
pub enum Deleted<K> {
    /// The deletion has begun. This is the object as it is now; it waits for its grace period or its finalizers.
    Deleting(Box<K>),
    /// The object is gone. Some kinds answer in this form, others with the object's last state as
    /// [`Deleting`](Self::Deleting).
    Done(Box<Status>),
}

impl<K> Deleted<K> {
    /// The object, if the server sent it.
    pub fn object(self) -> Option<K> {
        match self {
            Self::Deleting(object) => Some(*object),
            Self::Done(_) => None,
        }
    }
}
