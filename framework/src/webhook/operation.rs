use std::fmt;

use serde::{Deserialize, Serialize};

/// What the request that is admitted does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// It creates an object.
    Create,
    /// It changes an object: by update, patch or apply.
    Update,
    /// It deletes an object.
    Delete,
    /// It connects to an object, such as `kubectl exec`.
    Connect,
}

/// The name in Kubernetes: `CREATE`.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        })
    }
}
