//! What the reader relies on, although `serde_json` does not promise it.

use std::fmt::Display;

use serde::{
    Deserialize, Deserializer,
    de::{
        Visitor,
        value::{BorrowedStrDeserializer, Error, MapDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::value::RawValue;

use super::reader::RAW;

static TEXT: &str = r#"{"a": [1, "b"]}"#;

/// What a type asks a `Deserializer` for first, and what it makes of the answer of the [`Reader`](super::reader::Reader).
struct Answer<'a> {
    asked: &'a mut String,
}

impl<'de> Deserializer<'de> for Answer<'_> {
    type Error = Error;

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        name.clone_into(self.asked);
        let [key, text] = [RAW, TEXT].map(BorrowedStrDeserializer::<Error>::new);
        visitor.visit_map(MapDeserializer::new([(key, text)].into_iter()))
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        "something else than a newtype struct".clone_into(self.asked);
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Reads a `T` as the reader does, and panics with the part of the contract that no longer holds.
fn read<'de, T: Deserialize<'de>>(what: &str) -> T {
    let place = "`deserialize_newtype_struct` of client/codec/json/reader.rs, which must follow src/raw.rs of serde_json";
    let mut asked = String::new();
    let read = T::deserialize(Answer { asked: &mut asked });
    assert_eq!(
        asked, RAW,
        "a {what} of this version of serde_json asks under another name for its text. Change the constant RAW and, if need be, {place}"
    );
    let wrong = |error: &dyn Display| {
        panic!(
            "a {what} of this version of serde_json does not accept a map of the entry `{RAW}` with a borrowed text ({error}). Change {place}"
        )
    };
    read.unwrap_or_else(|error| wrong(&error))
}

#[test]
fn serde_json_asks_for_a_raw_value_as_the_reader_expects() {
    let borrowed: &RawValue = read("&RawValue");
    assert_eq!(borrowed.get(), TEXT);
    assert!(
        std::ptr::eq(borrowed.get(), TEXT),
        "a &RawValue of this version of serde_json does not borrow the text: each event of a watch is then copied. See `raw` in client/codec/json/reader.rs"
    );
    assert_eq!(read::<Box<RawValue>>("Box<RawValue>").get(), TEXT);
}
