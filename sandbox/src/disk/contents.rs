use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::authentication::Issued;
use crate::authority::Authority;
use crate::registry::GroupResource;
use crate::store::Objects;

/// What the folder had at the start. Empty for a new folder.
#[derive(Default)]
pub(crate) struct Contents {
    /// From where resource versions count on. 0 in a new folder.
    pub(crate) version: u64,
    pub(crate) objects: BTreeMap<GroupResource, Objects>,
    pub(crate) tokens: BTreeMap<String, Issued>,
    /// Whether an object needs a large stack.
    pub(crate) is_deep: bool,
}

/// By what clients know the server, so that their kubeconfigs stay valid.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The administrator's bearer token.
    pub(crate) admin_token: String,
    pub(crate) authority: Authority,
}
