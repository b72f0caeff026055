use std::io;

use pilothouse::resource::ObjectKey;
use serde::{Deserialize, Serialize};

/// A bucket as the store has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudBucket {
    /// Chosen by the store.
    pub id: String,
    /// The tag with which the bucket was created, by which its creator finds it again.
    pub token: String,
    /// A tag for people and for polls: the object that the bucket belongs to.
    #[serde(with = "key_text")]
    pub owner: ObjectKey,
    pub quota: u32,
}

// ANCHOR: cloud
/// The API of a store. It chooses the ids itself, and two equal requests create two buckets.
pub trait Cloud: Send + Sync + 'static {
    fn create(
        &self,
        token: &str,
        owner: &ObjectKey,
        quota: u32,
    ) -> impl Future<Output = io::Result<CloudBucket>> + Send;

    /// The bucket that was created with this token.
    fn find(&self, token: &str) -> impl Future<Output = io::Result<Option<CloudBucket>>> + Send;

    fn list(&self) -> impl Future<Output = io::Result<Vec<CloudBucket>>> + Send;

    fn set_quota(&self, id: &str, quota: u32) -> impl Future<Output = io::Result<()>> + Send;

    /// Deletes the bucket, if it exists.
    fn delete(&self, id: &str) -> impl Future<Output = io::Result<()>> + Send;
}
// ANCHOR_END: cloud

/// A key as `namespace/name`.
mod key_text {
    use pilothouse::resource::ObjectKey;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(key: &ObjectKey, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(key)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectKey, D::Error> {
        let text = String::deserialize(from)?;
        let (namespace, name) = text
            .split_once('/')
            .ok_or_else(|| D::Error::custom("a key has the form `namespace/name`"))?;
        Ok(ObjectKey::namespaced(namespace, name))
    }
}
