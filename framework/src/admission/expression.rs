use std::panic::Location;

/// An expression in CEL, and where it stands in the source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    pub(crate) text: String,
    pub(crate) place: &'static Location<'static>,
}

impl Expression {
    /// The place is that of the caller.
    #[track_caller]
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            place: Location::caller(),
        }
    }
}
