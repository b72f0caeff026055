use std::fmt;

use serde::de::Error;
use serde_saphyr::Location;

/// A text is no YAML, or no YAML of that type. It quotes nothing of the text.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Wrong {
    pub(crate) place: Option<Location>,
    /// A key is there for the second time.
    pub(crate) is_twice: bool,
}

impl Wrong {
    /// There, if it is not known better.
    pub(super) fn at(mut self, place: Location) -> Self {
        self.place.get_or_insert(place);
        self
    }

    /// Counted from 1 within the text.
    pub(crate) fn line(&self) -> Option<u64> {
        self.place.map(|place| place.line())
    }
}

impl From<serde_saphyr::Error> for Wrong {
    fn from(error: serde_saphyr::Error) -> Self {
        Self {
            place: error.location(),
            is_twice: matches!(
                error.without_snippet(),
                serde_saphyr::Error::DuplicateMappingKey { .. }
            ),
        }
    }
}

impl Error for Wrong {
    // A type's own message may quote a value.
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::default()
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not YAML of that type")
    }
}

impl std::error::Error for Wrong {}
