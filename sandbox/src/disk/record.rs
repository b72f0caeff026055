use std::sync::Arc;

use crate::authentication::Issued;
use crate::registry::GroupResource;
use crate::store::{Encoded, Key};

/// One change of what is kept.
pub(crate) enum Record {
    /// An object has this state now.
    Put(GroupResource, Key, Arc<Encoded>),
    /// An object is gone since this resource version.
    Remove(GroupResource, Key, u64),
    /// A kind is no longer served. Its objects are gone.
    Clear(GroupResource),
    /// These objects have replaced all others at this resource version.
    Replace(Vec<(GroupResource, Key, Arc<Encoded>)>, u64),
    /// A token of a service account is valid now.
    Token(String, Issued),
}
