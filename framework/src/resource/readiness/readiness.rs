/// Whether an object does what its spec asks for. See [`HasReadiness`](super::HasReadiness).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It does.
    Ready,
    /// Not yet. The text says what is missing, such as `1 of 3 replicas are ready`.
    NotReady(String),
    /// It will not without help. The text says why. An object can still become ready, for example after a change of its spec.
    Failed(String),
}

impl Readiness {
    /// Whether the object is ready.
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }

    /// Why the object is not ready; `None` if it is.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Ready => None,
            Self::NotReady(reason) | Self::Failed(reason) => Some(reason),
        }
    }
}
