use std::{collections::BTreeMap, marker::PhantomData};

use serde::de::DeserializeOwned;

use crate::{
    client::codec::{Codec, Encoding, with_codec},
    resource::{ApiResource, ObjectKey, OwnerReference, Undecodable},
};

/// The readable parts of an object that does not fit its type. A name that cannot be read is empty.
///
/// Each field is read separately, so that a field of any form or depth does not hide another.
pub(super) fn undecodable(
    encoding: Encoding,
    body: &[u8],
    resource: &ApiResource,
    reason: String,
) -> Undecodable {
    with_codec!(encoding, codec => read(codec, body, resource, reason))
}

fn read<C: Codec>(codec: C, body: &[u8], resource: &ApiResource, reason: String) -> Undecodable {
    let object = fields(codec, body);
    let metadata = object.get("metadata").map(|body| fields(codec, body));
    let metadata = metadata.unwrap_or_default();
    let string = |key: &str| value::<C, String>(codec, metadata.get(key)?);
    Undecodable {
        resource: resource.clone(),
        key: ObjectKey::new(
            string("namespace").as_deref(),
            &string("name").unwrap_or_default(),
        ),
        uid: string("uid"),
        resource_version: string("resourceVersion"),
        labels: metadata
            .get("labels")
            .map(|body| labels(codec, body))
            .unwrap_or_default(),
        owner_references: metadata
            .get("ownerReferences")
            .map(|body| owner_references(codec, body))
            .unwrap_or_default(),
        is_deleting: string("deletionTimestamp").is_some(),
        reason,
    }
}

/// The labels that are strings.
pub(super) fn labels<C: Codec>(codec: C, body: &[u8]) -> BTreeMap<String, String> {
    let labels = fields(codec, body).into_iter();
    labels
        .filter_map(|(key, body)| Some((key, value(codec, body)?)))
        .collect()
}

/// The owner references that decode.
pub(super) fn owner_references<C: Codec>(codec: C, body: &[u8]) -> Vec<OwnerReference> {
    let owners = codec.read(body, PhantomData::<Vec<C::Raw<'_>>>).ok();
    let owners = owners.into_iter().flatten();
    owners
        .filter_map(|owner| value(codec, owner.into()))
        .collect()
}

/// The fields of an object, each with its bytes. Empty if this is not an object.
fn fields<C: Codec>(codec: C, body: &[u8]) -> BTreeMap<String, &[u8]> {
    let fields = codec.read(body, PhantomData::<BTreeMap<String, C::Raw<'_>>>);
    let fields = fields.unwrap_or_default().into_iter();
    fields.map(|(key, body)| (key, body.into())).collect()
}

fn value<C: Codec, T: DeserializeOwned>(codec: C, body: &[u8]) -> Option<T> {
    codec.read_owned(body).ok()
}
