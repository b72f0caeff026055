use super::{Problem, YamlError};

/// Where something stands in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Place {
    /// Where a text begins.
    pub(super) const START: Self = Self { line: 1, column: 1 };

    pub(super) fn of(marker: &granit_parser::Marker) -> Self {
        Self {
            line: marker.line(),
            column: marker.col() + 1,
        }
    }

    /// Something is wrong there.
    pub(super) fn error(self, problem: Problem) -> YamlError {
        YamlError {
            place: Some(self),
            problem,
        }
    }
}
