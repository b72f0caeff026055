use std::{collections::BTreeMap, marker::PhantomData};

use serde::de::DeserializeOwned;

use crate::{
    client::codec::{Codec, Format, with_codec},
    resource::{ApiResource, ObjectKey, OwnerReference, Undecodable},
};

/// The readable parts of an object that does not fit its type. A name that cannot be read is empty.
///
/// Each field is read separately, so that a field of any form or depth does not hide another.
pub(super) fn undecodable(
    format: Format,
    body: &[u8],
    resource: &ApiResource,
    reason: String,
) -> Undecodable {
    with_codec!(format, codec => read(codec, body, resource, reason))
}

fn read<C: Codec>(codec: C, body: &[u8], resource: &ApiResource, reason: String) -> Undecodable {
    let opened = codec.opened(body);
    let object = opened.map(|opened| fields((opened.codec, opened.bytes)));
    let metadata = object.unwrap_or_default().remove("metadata");
    let metadata = metadata.map(fields).unwrap_or_default();
    let string = |key: &str| value::<C, String>(*metadata.get(key)?);
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
            .map(|(codec, body)| labels(*codec, body))
            .unwrap_or_default(),
        owner_references: metadata
            .get("ownerReferences")
            .map(|(codec, body)| owner_references(*codec, body))
            .unwrap_or_default(),
        is_deleting: string("deletionTimestamp").is_some(),
        reason,
    }
}

/// The labels that are strings.
pub(super) fn labels<C: Codec>(codec: C, body: &[u8]) -> BTreeMap<String, String> {
    let labels = fields((codec, body)).into_iter();
    labels
        .filter_map(|(key, part)| Some((key, value(part)?)))
        .collect()
}

/// The owner references that decode.
pub(super) fn owner_references<C: Codec>(codec: C, body: &[u8]) -> Vec<OwnerReference> {
    let owners = codec.read(body, PhantomData::<Vec<C::Raw<'_>>>).ok();
    let owners = owners.into_iter().flatten();
    owners
        .filter_map(|owner| value(codec.part(owner)))
        .collect()
}

/// Bytes, and the codec that reads them.
type Part<'a, C> = (C, &'a [u8]);

/// The fields of an object. Empty if this is not an object.
fn fields<C: Codec>((codec, body): Part<'_, C>) -> BTreeMap<String, Part<'_, C>> {
    let fields = codec.read(body, PhantomData::<BTreeMap<String, C::Raw<'_>>>);
    let fields = fields.unwrap_or_default().into_iter();
    fields.map(|(key, raw)| (key, codec.part(raw))).collect()
}

fn value<C: Codec, T: DeserializeOwned>((codec, body): Part<'_, C>) -> Option<T> {
    codec.read_owned(body).ok()
}
