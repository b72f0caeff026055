use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    client::codec::{Codec, Encoding, with_codec},
    resource::{ApiResource, ObjectKey, OwnerReference, Undecodable},
};

/// What can be read of an object that does not fit its type; a name that cannot be read is empty.
pub(super) fn undecodable(
    encoding: Encoding,
    body: &[u8],
    resource: &ApiResource,
    reason: String,
) -> Undecodable {
    #[derive(Deserialize, Default)]
    struct Lenient {
        #[serde(default)]
        metadata: Value,
    }
    let read = with_codec!(encoding, codec => codec.read_owned(body));
    let Lenient { metadata } = read.unwrap_or_default();
    let string = |key: &str| Some(metadata.get(key)?.as_str()?.to_owned());
    let labels = metadata.get("labels").and_then(Value::as_object);
    let owners = metadata.get("ownerReferences").and_then(Value::as_array);
    Undecodable {
        resource: resource.clone(),
        key: ObjectKey::new(
            string("namespace").as_deref(),
            &string("name").unwrap_or_default(),
        ),
        uid: string("uid"),
        resource_version: string("resourceVersion"),
        labels: labels
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect::<BTreeMap<_, _>>(),
        owner_references: owners
            .into_iter()
            .flatten()
            .filter_map(|owner| OwnerReference::deserialize(owner).ok())
            .collect(),
        reason,
    }
}
