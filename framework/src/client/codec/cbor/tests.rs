use super::*;
use crate::client::codec::Encoding;
use cbor4ii::core::{
    dec::{Decode, Error, Read},
    enc::{self, Encode, Write},
    major, types,
    utils::{BufWriter, SliceReader},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde::Deserialize;
use serde_json::{Value, json};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.bytes().filter(|byte| *byte != b' ').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn read(text: &str) -> Result<Value, String> {
    Cbor.read_owned(&hex(text))
}

/// Appendix A of RFC 8949, as far as JSON has the values.
#[test]
fn the_examples_of_the_standard_are_read() {
    for (bytes, expected) in [
        ("00", json!(0)),
        ("1818", json!(24)),
        ("1b000000e8d4a51000", json!(1_000_000_000_000_u64)),
        ("1bffffffffffffffff", json!(u64::MAX)),
        ("20", json!(-1)),
        ("3903e7", json!(-1000)),
        ("f90000", json!(0.0)),
        ("f93c00", json!(1.0)),
        ("fb3ff199999999999a", json!(1.1)),
        ("f97bff", json!(65504.0)),
        ("fa47c35000", json!(100_000.0)),
        ("f90001", json!(5.960_464_477_539_063e-8)),
        ("f90400", json!(0.000_061_035_156_25)),
        ("f9c400", json!(-4.0)),
        ("f4", json!(false)),
        ("f6", json!(null)),
        (
            "c074323031332d30332d32315432303a30343a30305a",
            json!("2013-03-21T20:04:00Z"),
        ),
        ("62225c", json!("\"\\")),
        ("64f0908591", json!("\u{10151}")),
        ("4449455446", json!("IETF")),
        ("8301820203820405", json!([1, [2, 3], [4, 5]])),
        ("a26161016162820203", json!({"a": 1, "b": [2, 3]})),
        ("7f657374726561646d696e67ff", json!("streaming")),
        ("5f42696e 43746f6dff", json!("intom")),
        ("9f018202039f0405ffff", json!([1, [2, 3], [4, 5]])),
        ("bf61610161629f0203ffff", json!({"a": 1, "b": [2, 3]})),
        ("d9d9f7 d9d9f7 a0", json!({})),
        ("d6 43 010203", json!("AQID")),
        ("d5 42 fbff", json!("-_8")),
        ("d7 42 00ff", json!("00ff")),
    ] {
        assert_eq!(read(bytes), Ok(expected), "{bytes}");
    }
}

#[test]
fn values_without_a_form_in_json_are_errors() {
    for (bytes, reason) in [
        ("", "the CBOR ends too early"),
        ("43 0102", "the CBOR ends too early"),
        ("9f01", "the CBOR ends too early"),
        ("0000", "not CBOR: something follows the item"),
        ("f97e00", "not CBOR: a number that is not finite"),
        ("f97c00", "not CBOR: a number that is not finite"),
        (
            "c249010000000000000000",
            "not CBOR: a number beyond 64 bits",
        ),
        ("3bffffffffffffffff", "not CBOR: a number beyond 64 bits"),
        ("f7", "not CBOR: an item that JSON does not have"),
        ("f0", "not CBOR: an item that JSON does not have"),
        ("61ff", "not CBOR: a text that is not UTF-8"),
        ("41ff", "not CBOR: a text that is not UTF-8"),
        ("1c", "not CBOR: an item that JSON does not have"),
        ("ff", "not CBOR: an item that JSON does not have"),
        ("a10000", "expected a string as key"),
        ("9bffffffffffffffff", "[0]: the CBOR ends too early"),
        ("bbffffffffffffffff", "the CBOR ends too early"),
    ] {
        assert_eq!(read(bytes).unwrap_err(), reason, "{bytes}");
    }
}

#[test]
fn a_type_has_the_same_forms_in_cbor_as_in_json() {
    #[derive(Debug, Default, PartialEq, serde::Serialize, Deserialize)]
    struct Forms {
        choice: Vec<Choice>,
        numbers: std::collections::BTreeMap<i32, (u8, i8, f32)>,
        flags: std::collections::BTreeMap<bool, char>,
        by_choice: std::collections::BTreeMap<Plain, Wrapped>,
        #[serde(flatten)]
        rest: std::collections::BTreeMap<String, Value>,
    }
    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    enum Choice {
        Unit,
        Newtype(Option<Box<Choice>>),
        Tuple(u8, ()),
        Struct { a: u8 },
    }
    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, Deserialize)]
    enum Plain {
        Left,
    }
    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    struct Wrapped(Option<u64>);

    let forms = Forms {
        choice: vec![
            Choice::Unit,
            Choice::Newtype(Some(Box::new(Choice::Struct { a: 1 }))),
            Choice::Newtype(None),
            Choice::Tuple(2, ()),
        ],
        numbers: [(-3, (1, -1, 0.1))].into(),
        flags: [(true, 'é')].into(),
        by_choice: [(Plain::Left, Wrapped(Some(7)))].into(),
        rest: [("x".into(), json!([null]))].into(),
    };
    let bytes = Cbor.write(&forms).unwrap();
    assert_eq!(Cbor.read_owned::<Forms>(&bytes).as_ref(), Ok(&forms));
    let as_json = serde_json::to_value(&forms).unwrap();
    let as_value: Value = Cbor.read_owned(&bytes).unwrap();
    assert_eq!(as_value["choice"], as_json["choice"]);
    assert_eq!(as_value["numbers"], json!({"-3": [1, -1, 0.1]}));
}

#[test]
fn a_list_is_not_accepted_as_a_struct() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Pair {
        a: u8,
        b: u8,
    }
    let read = |text: &str| Cbor.read_owned::<Pair>(&hex(text));
    assert_eq!(read("a2 6161 01 6162 02"), Ok(Pair { a: 1, b: 2 }));
    for list in ["82 01 02", "9f 01 02 ff"] {
        let reason = read(list).unwrap_err();
        assert_eq!(reason, "expected struct Pair, found a list");
    }
}

#[test]
fn a_type_that_writes_another_length_than_it_announced_is_refused() {
    struct Liar;
    impl Serialize for Liar {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeSeq;
            let mut list = serializer.serialize_seq(Some(2))?;
            list.serialize_element("one")?;
            list.end()
        }
    }
    assert_eq!(Cbor.write(&Liar), Err(Unwritable));
}

/// A document as another library decodes it.
#[derive(Debug, PartialEq)]
enum Item {
    Bytes(Vec<u8>),
    Map(Vec<(Item, Item)>),
    Tag(u64, Box<Item>),
}

fn text(text: &str) -> Item {
    Item::Bytes(text.into())
}

impl<'de> Decode<'de> for Item {
    fn decode<R: Read<'de>>(reader: &mut R) -> Result<Self, Error<R::Error>> {
        let first = reader.fill(1).map_err(Error::Read)?.as_ref()[0];
        Ok(match first >> 5 {
            major::MAP => Self::Map(types::Map::decode(reader)?.0),
            major::TAG => {
                let types::Tag(tag, item) = types::Tag::decode(reader)?;
                Self::Tag(tag, Box::new(item))
            }
            _ => Self::Bytes(types::Bytes::<Vec<u8>>::decode(reader)?.0),
        })
    }
}

impl Encode for Item {
    fn encode<W: Write>(&self, writer: &mut W) -> Result<(), enc::Error<W::Error>> {
        match self {
            Self::Bytes(bytes) => types::Bytes(&bytes[..]).encode(writer),
            Self::Map(pairs) => {
                types::Map::bounded(pairs.len(), writer)?;
                for (key, value) in pairs {
                    key.encode(writer)?;
                    value.encode(writer)?;
                }
                Ok(())
            }
            Self::Tag(tag, item) => types::Tag(*tag, &**item).encode(writer),
        }
    }
}

fn config_map() -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some("a".into());
    map.data = Some([("colour".to_owned(), "blue".to_owned())].into());
    map
}

/// The document that another library decodes, without the tag that says that CBOR follows.
fn of_other(bytes: &[u8]) -> Vec<(Item, Item)> {
    match Item::decode(&mut SliceReader::new(bytes)).unwrap() {
        Item::Tag(55799, document) => match *document {
            Item::Map(pairs) => pairs,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_library_reads_our_output() {
    assert_eq!(
        of_other(&Encoding::Cbor.write(&config_map()).unwrap()),
        [
            (text("apiVersion"), text("v1")),
            (text("kind"), text("ConfigMap")),
            (
                text("data"),
                Item::Map(vec![(text("colour"), text("blue"))])
            ),
            (text("metadata"), Item::Map(vec![(text("name"), text("a"))])),
        ]
    );
}

/// Bytes are within tag 22, and the object has the tag of CBOR, as the Go code writes them.
#[test]
fn the_output_of_another_library_is_read() {
    let bytes = Item::Tag(22, Box::new(Item::Bytes(vec![0, 255])));
    let secret = Item::Map(vec![
        (text("metadata"), Item::Map(vec![(text("name"), text("a"))])),
        (text("data"), Item::Map(vec![(text("key"), bytes)])),
    ]);
    let mut buffer = BufWriter::new(Vec::new());
    Item::Tag(55799, Box::new(secret))
        .encode(&mut buffer)
        .unwrap();
    let secret: Secret = Cbor.read_owned(buffer.buffer()).unwrap();
    assert_eq!(secret.metadata.name.as_deref(), Some("a"));
    assert_eq!(secret.data.unwrap()["key"].0, [0, 255]);
}
