use serde_json::Value;

use super::{Target, strategy};
use crate::error::ApiError;
use crate::meta;
use crate::protobuf;

/// The largest request that etcd takes, in bytes.
const LARGEST_REQUEST: usize = 1536 * 1024;
/// The largest message that a client of etcd sends, in bytes.
const LARGEST_MESSAGE: usize = 2048 * 1024;
/// What etcd adds to the request of a client: an identity, and the frame of the request.
const HEADER: usize = 18;
/// Objects that are smaller than this as JSON fit in each form.
const SMALL: usize = 1024 * 1024;

/// Makes sure that etcd would take an object in its stored version. An object that is too large loses the owners of its fields, as on a real server.
/// `replaced` is the version of the object that it replaces.
///
/// # Errors
/// 500 if the object is too large without its owners, too.
pub(super) fn fit(
    target: &Target,
    name: &str,
    stored: &mut Value,
    replaced: u64,
) -> Result<(), ApiError> {
    if is_small(stored) {
        return Ok(());
    }
    if transaction(target, name, stored, replaced) + HEADER <= LARGEST_REQUEST {
        return Ok(());
    }
    meta::remove(stored, "managedFields");
    let size = transaction(target, name, stored, replaced);
    let why = match () {
        () if size > LARGEST_MESSAGE => format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. {LARGEST_MESSAGE})"
        ),
        () if size + HEADER > LARGEST_REQUEST => "etcdserver: request is too large".to_owned(),
        () => return Ok(()),
    };
    Err(ApiError::new(500, "", why))
}

/// The length of the transaction that stores an object: the version to replace, the object, and, of a change, the request for the present object if the
/// version is another one.
fn transaction(target: &Target, name: &str, stored: &Value, replaced: u64) -> usize {
    let key = field(strategy::storage_key(target, name).len());
    const TARGET: usize = 2;
    let compare = field(TARGET + key + 1 + varint(replaced));
    let put = field(field(key + field(value(target, stored))));
    let read = if replaced == 0 { 0 } else { field(field(key)) };
    compare + put + read
}

/// The length of a field of a message whose value has this length.
fn field(length: usize) -> usize {
    1 + varint(length as u64) + length
}

fn varint(number: u64) -> usize {
    const BITS: u32 = 7;
    let bits = u64::BITS - number.leading_zeros();
    bits.div_ceil(BITS).max(1) as usize
}

/// The length of an object as a real server stores it: custom resources as the JSON that Go writes, others as protobuf.
fn value(target: &Target, stored: &Value) -> usize {
    let mut object = stored.clone();
    meta::remove(&mut object, "resourceVersion");
    if !target.kind.is_custom()
        && let Some(bytes) = protobuf::encode(&object)
    {
        return bytes.len();
    }
    let text = object.to_string();
    // Go escapes them.
    let escaped = text
        .bytes()
        .filter(|byte| matches!(byte, b'<' | b'>' | b'&'));
    const MORE: usize = r"\u003c".len() - 1;
    const END_OF_LINE: usize = 1;
    text.len() + escaped.count() * MORE + END_OF_LINE
}

/// Whether the JSON of a value is small. Counts no further than that.
fn is_small(value: &Value) -> bool {
    /// What is left after a value.
    fn rest(value: &Value, left: usize) -> Option<usize> {
        /// Commas, colons and quotes.
        const FRAME: usize = 4;
        let left = left.checked_sub(FRAME)?;
        match value {
            Value::String(text) => left.checked_sub(text.len()),
            Value::Array(items) => items.iter().try_fold(left, |left, item| rest(item, left)),
            Value::Object(fields) => fields.iter().try_fold(left, |left, (name, value)| {
                rest(value, left.checked_sub(name.len() + FRAME)?)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => left.checked_sub(FRAME),
        }
    }
    rest(value, SMALL).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LARGEST_REQUEST, Target, fit};
    use crate::builtin;
    use crate::error::ApiError;

    fn revision(length: usize) -> (Value, Result<(), ApiError>) {
        let mut kinds = builtin::kinds().into_iter();
        let kind = kinds.find(|kind| kind.plural == "controllerrevisions");
        let target = Target::new(&kind.unwrap(), Some("default"));
        let mut object = json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": "x".repeat(length),
            "metadata": {"name": "a", "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:data": {}}}]},
        });
        let fits = fit(&target, "a", &mut object, 0);
        (object, fits)
    }

    #[test]
    fn an_object_that_etcd_refuses_first_loses_its_owners() {
        const ROOM: usize = 400;
        let has_owners = |object: &Value| object["metadata"]["managedFields"].is_array();
        let (object, fits) = revision(LARGEST_REQUEST - ROOM);
        assert!(has_owners(&object) && fits.is_ok());
        const STEP: usize = 20;
        let mut sizes = (LARGEST_REQUEST - ROOM..LARGEST_REQUEST).step_by(STEP);
        assert!(sizes.any(|length| {
            let (object, fits) = revision(length);
            fits.is_ok() && !has_owners(&object)
        }));
        let (_, fits) = revision(LARGEST_REQUEST);
        assert_eq!(
            fits.unwrap_err().message,
            "etcdserver: request is too large"
        );
        let message = revision(2 * 1024 * 1024).1.unwrap_err().message;
        assert!(
            message.starts_with("rpc error: code = ResourceExhausted"),
            "{message}"
        );
    }
}
