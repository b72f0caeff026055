use std::{fmt, path::PathBuf};

/// Where a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::operator) enum Origin {
    /// On the command line.
    Flag,
    /// In the environment variable of that name.
    Variable(String),
    /// In the file of settings, on that line.
    File { path: PathBuf, line: u64 },
    /// Nowhere: it is the default.
    Default,
}

impl Origin {
    pub(in crate::operator) fn is_default(&self) -> bool {
        *self == Self::Default
    }

    /// Whether a value there counts though there is one at `other`, too.
    pub(in crate::operator) fn comes_before(&self, other: &Self) -> bool {
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
