use std::{fmt, path::PathBuf};

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::operator) enum Origin {
    /// The command line.
    Flag,
    /// The environment variable with this name.
    Variable(String),
    /// This line of the settings file.
    File { path: PathBuf, line: u64 },
    /// The default, because nothing sets a value.
    Default,
}

impl Origin {
    pub(in crate::operator) fn is_default(&self) -> bool {
        *self == Self::Default
    }

    /// Whether a value of this origin has priority over a value of `other`.
    pub(in crate::operator) fn overrides(&self, other: &Self) -> bool {
        self.rank() < other.rank()
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Flag => 0,
            Self::Variable(_) => 1,
            Self::File { .. } => 2,
            Self::Default => 3,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("command line"),
            Self::Variable(name) => f.write_str(name),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}
