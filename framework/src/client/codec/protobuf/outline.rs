//! What a cache needs of an object, straight from the bytes: without serde, and without looking up each field in the table.

use std::{borrow::Cow, ops::Range};

use super::{
    table::{Kind, MessageId, table},
    wire::{BYTES, Rest},
};
use crate::client::codec::ObjectOutline;

/// The number of `metadata` in the message of each kind.
const METADATA: u32 = 1;

// The numbers of the fields of the metadata.
const NAME: u32 = 1;
const NAMESPACE: u32 = 3;
const UID: u32 = 5;
const RESOURCE_VERSION: u32 = 6;
const DELETION_TIMESTAMP: u32 = 9;
const LABELS: u32 = 11;
const ANNOTATIONS: u32 = 12;
const OWNER_REFERENCES: u32 = 13;
const FINALIZERS: u32 = 14;
const MANAGED_FIELDS: u32 = 17;

/// The outline of an object of the message. `None` if the object is not as Go writes it, or its metadata are of another type. Whoever reads it with
/// the table finds out what that means. What follows the metadata is not looked at.
pub(super) fn outline(message: MessageId, bytes: &[u8]) -> Option<ObjectOutline<'_>> {
    let first = message.fields().first()?;
    let is_usual = first.number == METADATA && first.kind == Kind::Message(table().object_meta);
    // The kind of a partial object is no field of it.
    if !is_usual || message == table().partial_object {
        return None;
    }
    let mut rest = Rest(bytes);
    let tag = rest.tag().ok()?;
    if tag.number != METADATA || tag.wire_type != BYTES {
        return None;
    }
    of_metadata(rest.bytes().ok()?)
}

fn of_metadata(metadata: &[u8]) -> Option<ObjectOutline<'_>> {
    let mut outline = ObjectOutline::default();
    let [mut labels, mut owners, mut managed] = [const { None::<Range<usize>> }; 3];
    let mut rest = Rest(metadata);
    let mut last = 0;
    while !rest.is_empty() {
        let start = metadata.len() - rest.0.len();
        let tag = rest.tag().ok()?;
        let is_again = tag.number == last;
        if tag.number < last {
            return None;
        }
        last = tag.number;
        let (text, run) = match tag.number {
            NAME => (Some(&mut outline.name), None),
            NAMESPACE => (Some(&mut outline.namespace), None),
            UID => (Some(&mut outline.uid), None),
            RESOURCE_VERSION => (Some(&mut outline.resource_version), None),
            LABELS => (None, Some(&mut labels)),
            OWNER_REFERENCES => (None, Some(&mut owners)),
            MANAGED_FIELDS => (None, Some(&mut managed)),
            DELETION_TIMESTAMP => (None, None),
            _ => {
                let has_many = matches!(tag.number, ANNOTATIONS | FINALIZERS);
                if is_again && !has_many {
                    return None;
                }
                rest.skip(tag).ok()?;
                continue;
            }
        };
        if tag.wire_type != BYTES || is_again && run.is_none() {
            return None;
        }
        let value = rest.bytes().ok()?;
        let end = metadata.len() - rest.0.len();
        match (text, run) {
            // Go writes an empty text, which JSON lacks.
            (Some(_), _) if value.is_empty() => {}
            (Some(text), _) => *text = Some(Cow::Borrowed(std::str::from_utf8(value).ok()?)),
            // All values follow each other, with their tags.
            (_, Some(run)) => run.get_or_insert(start..end).end = end,
            (None, None) => outline.is_deleting = !is_null_time(value)?,
        }
    }
    let part = |run: Option<Range<usize>>| metadata.get(run?);
    Some(ObjectOutline {
        metadata: Some(metadata),
        labels: part(labels),
        owner_references: part(owners),
        managed_fields: part(managed),
        ..outline
    })
}

/// Whether JSON has no time in the place of the bytes.
fn is_null_time(bytes: &[u8]) -> Option<bool> {
    let mut fields = table().object_meta.fields().iter();
    let field = fields.find(|field| field.number == DELETION_TIMESTAMP)?;
    match field.kind {
        Kind::Own(form, message) => form.is_null(message, bytes).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_table() {
        let numbers = [
            ("name", NAME),
            ("namespace", NAMESPACE),
            ("uid", UID),
            ("resourceVersion", RESOURCE_VERSION),
            ("deletionTimestamp", DELETION_TIMESTAMP),
            ("labels", LABELS),
            ("annotations", ANNOTATIONS),
            ("ownerReferences", OWNER_REFERENCES),
            ("finalizers", FINALIZERS),
            ("managedFields", MANAGED_FIELDS),
        ];
        for (name, number) in numbers {
            let field = table().object_meta.field(name).unwrap().get().unwrap();
            assert_eq!(field.number, number, "{name}");
        }
    }
}
