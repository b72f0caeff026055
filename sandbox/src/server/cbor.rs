//! CBOR as Kubernetes writes it (KEP-4222): every text is a byte string, a document begins with tag 55799, a watch is a
//! sequence. A request may also contain text strings, and byte strings in a tag that says how JSON shows them.
//!
//! Everything behind this module uses JSON.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use cbor4ii::core::dec::{Decode, Error, Read, Reference};
use cbor4ii::core::enc::{self, Encode, Write};
use cbor4ii::core::utils::{BufWriter, SliceReader};
use cbor4ii::core::{major, types};
use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::{depth, stack};

pub(super) const MEDIA: &str = "application/cbor";
pub(super) const SEQUENCE: &str = "application/cbor-seq";
const SELF_DESCRIBED: u64 = 55799;

/// Translates the body and media type of a CBOR request to JSON. Returns `None` for another media type.
///
/// # Errors
/// 400 if the body is not CBOR.
pub(crate) fn request(
    media_type: &str,
    body: &Bytes,
) -> Result<Option<(&'static str, Bytes)>, ApiError> {
    let json = match media_type {
        MEDIA => "application/json",
        "application/apply-patch+cbor" => "application/apply-patch+yaml",
        _ => return Ok(None),
    };
    let text = stack::large(|| {
        // A `Value` always serialises.
        decode(body).map(|value| serde_json::to_vec(&value).unwrap_or_default())
    });
    let text = text.map_err(ApiError::bad_request)?;
    Ok(Some((json, text.into())))
}

/// Encodes JSON documents, one after the other.
pub(crate) fn encode_all(json: &[u8]) -> Bytes {
    let mut buffer = BufWriter::new(Vec::new());
    let mut documents = serde_json::Deserializer::from_slice(json);
    documents.disable_recursion_limit();
    for value in documents.into_iter::<Value>().flatten() {
        // It fails only if there is no memory.
        let _ = types::Tag(SELF_DESCRIBED, Document(&value)).encode(&mut buffer);
    }
    buffer.into_inner().into()
}

fn decode(bytes: &[u8]) -> Result<Value, String> {
    let mut reader = Reader {
        inner: SliceReader::new(bytes),
        left: depth::LIMIT,
    };
    let Owned(value) =
        Owned::decode(&mut reader).map_err(|error| format!("error decoding CBOR: {error}"))?;
    match reader.fill(1) {
        Ok(rest) if rest.as_ref().is_empty() => Ok(value),
        _ => Err("error decoding CBOR: something follows the document".into()),
    }
}

/// Limits how deeply a document is nested.
struct Reader<'de> {
    inner: SliceReader<'de>,
    left: usize,
}

impl<'de> Read<'de> for Reader<'de> {
    type Error = <SliceReader<'de> as Read<'de>>::Error;

    fn fill<'short>(&'short mut self, want: usize) -> Result<Reference<'de, 'short>, Self::Error> {
        self.inner.fill(want)
    }

    fn advance(&mut self, n: usize) {
        self.inner.advance(n);
    }

    fn step_in(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }

    fn step_out(&mut self) {
        self.left += 1;
    }
}

struct Document<'a>(&'a Value);

fn text(text: &str) -> types::Bytes<&[u8]> {
    types::Bytes(text.as_bytes())
}

impl Encode for Document<'_> {
    fn encode<W: Write>(&self, writer: &mut W) -> Result<(), enc::Error<W::Error>> {
        match self.0 {
            Value::Null => types::Null.encode(writer),
            Value::Bool(value) => value.encode(writer),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => number.encode(writer),
                (_, Some(number), _) => number.encode(writer),
                (.., number) => number.unwrap_or_default().encode(writer),
            },
            Value::String(value) => text(value).encode(writer),
            Value::Array(items) => {
                types::Array::bounded(items.len(), writer)?;
                items
                    .iter()
                    .try_for_each(|item| Document(item).encode(writer))
            }
            Value::Object(pairs) => {
                types::Map::bounded(pairs.len(), writer)?;
                pairs.iter().try_for_each(|(key, value)| {
                    text(key).encode(writer)?;
                    Document(value).encode(writer)
                })
            }
        }
    }
}

struct Owned(Value);

impl<'de> Decode<'de> for Owned {
    fn decode<R: Read<'de>>(reader: &mut R) -> Result<Self, Error<R::Error>> {
        let malformed = |name| Error::RequireUtf8 { name };
        let first = *reader
            .fill(1)
            .map_err(Error::Read)?
            .as_ref()
            .first()
            .ok_or(Error::RequireUtf8 { name: &"item" })?;
        Ok(Self(match first >> 5 {
            // Go reads integers as signed ones.
            major::UNSIGNED => i64::try_from(u64::decode(reader)?)
                .map_err(|_| malformed(&"number of 64 bits"))?
                .into(),
            major::NEGATIVE => i64::decode(reader)?.into(),
            // What is not UTF-8 is replaced, as in protobuf.
            major::BYTES => bytes(reader, |bytes| {
                Some(String::from_utf8_lossy(&bytes).into_owned())
            })?,
            major::STRING => String::decode(reader)?.into(),
            major::ARRAY => {
                let items = Vec::<Self>::decode(reader)?;
                items.into_iter().map(|Self(item)| item).collect()
            }
            major::MAP => {
                let pairs = types::Map::<Vec<(Self, Self)>>::decode(reader)?.0;
                let mut map = Map::new();
                for (Self(key), Self(value)) in pairs {
                    let Value::String(key) = key else {
                        return Err(malformed(&"key"));
                    };
                    if map.insert(key, value).is_some() {
                        return Err(malformed(&"duplicate key"));
                    }
                }
                map.into()
            }
            major::TAG => match types::Tag::tag(reader)? {
                // A time is a text, and a large number is refused.
                0 => String::decode(reader)?.into(),
                2 | 3 => return Err(malformed(&"number of 64 bits")),
                21 => bytes(reader, |bytes| Some(URL_SAFE_NO_PAD.encode(bytes)))?,
                22 => bytes(reader, |bytes| Some(STANDARD.encode(bytes)))?,
                23 => bytes(reader, |bytes| {
                    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
                })?,
                _ => {
                    if !reader.step_in() {
                        return Err(malformed(&"nesting"));
                    }
                    let value = Self::decode(reader)?.0;
                    reader.step_out();
                    value
                }
            },
            _ => match first {
                marker::NULL => {
                    reader.advance(1);
                    Value::Null
                }
                marker::F16 => number(half(reader)?)?,
                marker::F32 => number(f32::decode(reader)?.into())?,
                marker::F64 => number(f64::decode(reader)?)?,
                _ => bool::decode(reader)?.into(),
            },
        }))
    }
}

mod marker {
    pub(super) const NULL: u8 = 0xf6;
    pub(super) const F16: u8 = 0xf9;
    pub(super) const F32: u8 = 0xfa;
    pub(super) const F64: u8 = 0xfb;
}

/// JSON has no infinity, and nothing that is no number.
fn number<E>(number: f64) -> Result<Value, Error<E>> {
    match number.is_finite() {
        true => Ok(number.into()),
        false => Err(Error::RequireUtf8 {
            name: &"finite number",
        }),
    }
}

/// A number of 16 bits (RFC 8949, appendix D).
fn half<'de, R: Read<'de>>(reader: &mut R) -> Result<f64, Error<R::Error>> {
    let bytes = reader.fill(3).map_err(Error::Read)?;
    let bytes = bytes.as_ref().first_chunk::<3>().copied();
    let [_, high, low] = bytes.ok_or(Error::RequireUtf8 { name: &"number" })?;
    reader.advance(3);
    let fraction = f64::from(u16::from_be_bytes([high & 0x03, low]));
    let exponent = i32::from(high >> 2 & 0x1f);
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
    };
    Ok(if high & 0x80 == 0 { size } else { -size })
}

fn bytes<'de, R: Read<'de>>(
    reader: &mut R,
    show: impl FnOnce(Vec<u8>) -> Option<String>,
) -> Result<Value, Error<R::Error>> {
    let types::Bytes(bytes) = types::Bytes::<Vec<u8>>::decode(reader)?;
    let shown = show(bytes).ok_or(Error::RequireUtf8 { name: &"text" });
    shown.map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn encoded_values_decode_to_the_same_values() {
        let value = json!({"a": [1, -1, 0.5, null, true, "é", {}, []], "": i64::MAX});
        let bytes = encode_all(value.to_string().as_bytes());
        assert_eq!(&bytes[..3], b"\xd9\xd9\xf7");
        assert_eq!(decode(&bytes), Ok(value));
    }

    #[test]
    fn bytes_are_decoded_as_their_tag_says() {
        assert_eq!(decode(b"\xd6\x43\x01\x02\x03"), Ok(json!("AQID")));
        assert_eq!(decode(b"\xd5\x42\xfb\xff"), Ok(json!("-_8")));
        assert_eq!(decode(b"\xd7\x42\xfb\x0f"), Ok(json!("fb0f")));
        assert_eq!(decode(b"\x62\xc3\xa9"), Ok(json!("é")));
        assert_eq!(decode(b"\x42a\xff"), Ok(json!("a\u{fffd}")));
    }

    #[test]
    fn numbers_of_sixteen_bits_are_read() {
        for (bytes, number) in [
            (b"\xf9\x3c\x00", 1.0),
            (b"\xf9\x3e\x00", 1.5),
            (b"\xf9\xc4\x00", -4.0),
            (b"\xf9\x7b\xff", 65_504.0),
            (b"\xf9\x04\x00", 0.000_061_035_156_25),
            (b"\xf9\x00\x01", 5.960_464_477_539_063e-8),
            (b"\xf9\x00\x00", 0.0),
        ] {
            assert_eq!(decode(bytes), Ok(json!(number)));
        }
    }

    #[test]
    fn malformed_documents_are_refused_at_any_depth() {
        for bytes in [
            &b""[..],
            b"\x00\x00",
            b"\xa1\x00\x00",
            b"\xa2\x41a\x00\x41a\x00",
            b"\xf9\x3c",
            b"\xf9\x7c\x00",
            b"\xf9\x7e\x00",
            b"\xfa\x7f\x80\x00\x00",
            b"\xfb\x7f\xf8\x00\x00\x00\x00\x00\x00",
            b"\xf7",
            b"\xc0\x41x",
            b"\xc2\x41\x01",
            b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
            &[0x81; 100_000],
            &[0xc1; 100_000],
        ] {
            assert!(stack::large(|| decode(bytes).is_err()));
        }
    }
}
