//! Objects that the sandbox's own codec writes are read as from JSON.

use fastrand::Rng;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, StatefulSet},
        batch::v1::{CronJob, Job},
        coordination::v1::Lease,
        core::v1::{ConfigMap, Node, PersistentVolume, Pod, Secret, Service},
        networking::v1::{Ingress, NetworkPolicy},
        rbac::v1::ClusterRole,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use pilothouse_sandbox::internals::{
    builtin::kinds,
    protobuf::{decode, encode},
};
use proptest::prelude::*;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Protobuf, Shape,
    form::Form,
    table::{Count, Field, Kind, MessageId, table},
    wire::write_varint,
};
use crate::client::codec::Codec;

const DOCUMENT: Protobuf = Protobuf(Shape::Document);

/// Some fields of a message, some of them with Go's zero value. Deeper messages have fewer.
fn fill(id: MessageId, object: &mut Map<String, Value>, depth: u32, random: &mut Rng) {
    for field in id.fields() {
        if random.u32(..8) < depth {
            continue;
        }
        match field.kind {
            Kind::Message(inner) if field.inline => fill(inner, object, depth + 1, random),
            _ => {
                object.insert(field.name.to_owned(), values(field, depth + 1, random));
            }
        }
    }
}

fn values(field: &Field, depth: u32, random: &mut Rng) -> Value {
    let count = random.usize(..3);
    let mut one = || value(field.kind, depth, random);
    match field.count {
        Count::One => one(),
        Count::List => (0..count).map(|_| one()).collect(),
        Count::Map => {
            let entries = (0..count).map(|place| (format!("k{place}"), one()));
            Value::Object(entries.collect())
        }
    }
}

fn value(kind: Kind, depth: u32, random: &mut Rng) -> Value {
    let number = |random: &mut Rng| random.i32(..) * random.i32(0..2);
    match kind {
        Kind::String => random.choice(["", "a", "\"é\0", "7"]).into(),
        Kind::Bool => random.bool().into(),
        Kind::Int32 => number(random).into(),
        Kind::Int64 => (i64::from(number(random)) << random.u8(..32)).into(),
        Kind::Double => random
            .choice([0.5, -2.25, 3.0, -4.0, 0.0, 1e300, -1e20])
            .into(),
        Kind::Bytes => random.choice(["", "AQ==", "AQID", "/+8="]).into(),
        Kind::Message(id) => {
            let mut object = Map::new();
            fill(id, &mut object, depth, random);
            object.into()
        }
        Kind::Own(form, id) => own(form, id, depth, random),
    }
}

fn own(form: Form, id: MessageId, depth: u32, random: &mut Rng) -> Value {
    let schema = |random: &mut Rng| {
        let schema = id.field("schema").unwrap().get().unwrap();
        value(schema.kind, depth + 2, random)
    };
    let times = [
        json!("1970-01-01T00:00:00.000000Z"),
        json!("2026-01-01T00:00:00.000001Z"),
        Value::Null,
    ];
    match form {
        Form::Time => random.choice([
            json!("1970-01-01T00:00:00Z"),
            json!("2026-02-28T23:59:59Z"),
            Value::Null,
        ]),
        Form::MicroTime => random.choice(times),
        Form::Quantity => random.choice(["0", "100m", "1536Mi", "-5n", "1e3"].map(Value::from)),
        Form::IntOrString => {
            random.choice([json!(80), json!(""), json!(0), json!("http"), json!(-1)])
        }
        Form::Json => random.choice([
            json!({"a": [null, 1.5, -1, true], "b": {"c": ""}}),
            json!(""),
            json!(false),
            Value::Null,
        ]),
        Form::Items => random.choice([json!(["a", ""]), json!([])]),
        Form::SchemaOrBool if random.bool() => Some(random.bool().into()),
        Form::SchemaOrStrings if random.bool() => Some(json!(["a", ""])),
        Form::SchemaOrArray if random.bool() => Some(json!([schema(random)])),
        Form::SchemaOrArray | Form::SchemaOrBool | Form::SchemaOrStrings => Some(schema(random)),
    }
    .unwrap()
}

/// A random object of a kind, as bytes and as Go's JSON.
fn object(api_version: &str, kind: &str, seed: u64) -> (Vec<u8>, Value) {
    let (mut object, mut random) = (Map::new(), Rng::with_seed(seed));
    let message = table().message_of(api_version, kind).unwrap();
    let depth = random.u32(..4);
    fill(message, &mut object, depth, &mut random);
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    let bytes = encode(&object.into()).unwrap();
    let json = decode(&bytes, ("", ""), |object| object).unwrap();
    (bytes, json)
}

fn is_same_typed<K: crate::resource::Resource + DeserializeOwned + PartialEq>(seed: u64) {
    let resource = crate::resource::ApiResource::of::<K>();
    let (bytes, json) = object(&resource.api_version(), K::KIND, seed);
    let text = json.to_string();
    let expected = crate::client::codec::Json.read_owned::<K>(text.as_bytes());
    let found = DOCUMENT.read_owned::<K>(&bytes);
    assert!(found == expected, "{} from seed {seed}: {text}", K::KIND);
}

#[test]
fn every_builtin_kind_is_read_as_from_json() {
    for kind in kinds() {
        for seed in 0..40 {
            let (bytes, expected) = object(&kind.api_version(), &kind.kind, seed);
            let found = DOCUMENT.read_owned::<Value>(&bytes);
            assert_eq!(
                found.as_ref(),
                Ok(&expected),
                "{} from seed {seed}",
                kind.kind
            );
        }
    }
}

#[test]
fn types_get_the_same_values_as_from_json() {
    for seed in 0..60 {
        is_same_typed::<Pod>(seed);
        is_same_typed::<ConfigMap>(seed);
        is_same_typed::<Secret>(seed);
        is_same_typed::<Service>(seed);
        is_same_typed::<Node>(seed);
        is_same_typed::<PersistentVolume>(seed);
        is_same_typed::<Deployment>(seed);
        is_same_typed::<StatefulSet>(seed);
        is_same_typed::<Job>(seed);
        is_same_typed::<CronJob>(seed);
        is_same_typed::<Lease>(seed);
        is_same_typed::<Ingress>(seed);
        is_same_typed::<NetworkPolicy>(seed);
        is_same_typed::<ClusterRole>(seed);
        is_same_typed::<CustomResourceDefinition>(seed);
    }
}

/// A ConfigMap whose message ends with these bytes.
fn config_map(more: &[u8]) -> Vec<u8> {
    let metadata = [0x0a, 3, 0x0a, 1, b'a'];
    enveloped("ConfigMap", &[&metadata[..], more].concat())
}

fn enveloped(kind: &str, object: &[u8]) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let mut field = vec![number << 3 | 2];
        write_varint(bytes.len() as u64, &mut field);
        [field, bytes.to_vec()].concat()
    };
    let types = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
    [&b"k8s\0"[..], &field(1, &types), &field(2, object)].concat()
}

fn read(bytes: &[u8]) -> Result<ConfigMap, String> {
    DOCUMENT.read_owned(bytes)
}

#[test]
fn fields_of_a_newer_server_are_skipped() {
    let known = read(&config_map(&[0x20, 1])).unwrap();
    assert_eq!(known.immutable, Some(true));
    let newer = [0x20, 1, 0x78, 5, 0x82, 1, 2, 1, 2, 0x8b, 1, 0x8c, 1];
    assert_eq!(read(&config_map(&newer)), Ok(known));
}

#[test]
fn an_error_names_the_field_and_the_reason() {
    for (more, reason) in [
        (&[0x20][..], "the protobuf ends too early"),
        (&[0x12, 9, 1], "the protobuf ends too early"),
        (
            &[0x0a, 0],
            "not protobuf of Kubernetes: fields that are not in the order of their numbers",
        ),
        (
            &[0x22, 0],
            "not protobuf of Kubernetes: a field of another type",
        ),
        (
            &[0x07, 0],
            "not protobuf of Kubernetes: a field with an impossible number",
        ),
        (&[0x12, 2, 0x0a, 5], "data: the protobuf ends too early"),
    ] {
        assert_eq!(read(&config_map(more)).unwrap_err(), reason);
    }
    let unknown = read(&enveloped("Map", b"")).unwrap_err();
    assert_eq!(
        unknown,
        "not protobuf of Kubernetes: a kind whose fields this version of the program does not know"
    );
    let misfit = DOCUMENT
        .read_owned::<std::collections::BTreeMap<String, String>>(&config_map(&[]))
        .unwrap_err();
    assert_eq!(misfit, "metadata: expected a string, found an object");
    let wrong = read(&enveloped("Pod", b"")).unwrap_err();
    assert_eq!(wrong, "expected ConfigMap, found a string");
}

/// Go writes a whole number below 1e21 with all its digits, and `serde_json` reads such digits as an integer if it has 64 bits.
#[test]
fn whole_numbers_are_integers_as_in_json() {
    let read = |number: f64| {
        let double = Protobuf(Shape::Value(Kind::Double));
        double.read_owned::<Value>(&number.to_le_bytes())
    };
    for (number, digits) in [
        (1e19, "10000000000000000000"),
        (-9e18, "-9000000000000000000"),
        (-1e19, "-10000000000000000000"),
        (1e20, "100000000000000000000"),
        (9_223_372_036_854_775_808.0, "9223372036854776000"),
        (18_446_744_073_709_551_616.0, "18446744073709552000"),
        (9_007_199_254_740_993.0, "9007199254740992"),
        (1.0, "1"),
        (7.0, "7"),
        (0.1, "0.1"),
        (-0.0, "-0"),
    ] {
        let expected: Value = serde_json::from_str(digits).unwrap();
        assert_eq!(read(number), Ok(expected), "{digits}");
    }
    for number in [f64::NAN, f64::INFINITY] {
        assert!(read(number).is_err());
    }
}

#[test]
fn a_text_that_is_not_utf8_gets_replacement_characters() {
    let map = read(&config_map(&[0x12, 6, 0x0a, 1, b'k', 0x12, 1, 0xff])).unwrap();
    assert_eq!(map.data.unwrap()["k"], "\u{fffd}");
}

#[test]
fn a_type_may_keep_a_part_as_json() {
    #[derive(Deserialize)]
    struct Kept {
        metadata: Box<RawValue>,
    }
    let kept: Kept = DOCUMENT.read_owned(&config_map(&[])).unwrap();
    assert_eq!(kept.metadata.get(), r#"{"name":"a"}"#);
}

#[test]
fn a_type_may_be_an_enum() {
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    enum Policy {
        Always,
    }
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    enum Source {
        EmptyDir { medium: String },
    }
    let pod = table().message_of("v1", "Pod").unwrap();
    let policy = Protobuf(Shape::Value(Kind::String));
    assert_eq!(policy.read_owned(b"always"), Ok(Policy::Always));
    assert_eq!(
        policy.read_owned::<Policy>(b"never").unwrap_err(),
        "expected `always`"
    );
    let Kind::Message(spec) = pod.field("spec").unwrap().get().unwrap().kind else {
        panic!("no spec");
    };
    let Kind::Message(volume) = spec.field("volumes").unwrap().get().unwrap().kind else {
        panic!("no volume");
    };
    let Kind::Message(source) = volume.fields()[1].kind else {
        panic!("no source");
    };
    let source = Protobuf(Shape::Value(Kind::Message(source)));
    let empty_dir = [0x12, 3, 0x0a, 1, b'm'];
    let medium = "m".to_owned();
    assert_eq!(
        source.read_owned(&empty_dir),
        Ok(Source::EmptyDir { medium })
    );
    assert!(source.read_owned::<Source>(b"").is_err());
}

/// Schemas within schemas, which are the only message that contains itself.
#[test]
fn nesting_is_bounded() {
    let crd = table()
        .message_of("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        .unwrap();
    let mut schema = MessageId::default();
    let mut open = vec![crd];
    while let Some(message) = open.pop() {
        for field in message.fields() {
            match field.kind {
                Kind::Message(inner) if field.name == "openAPIV3Schema" => schema = inner,
                Kind::Message(inner) if field.name != "metadata" => open.push(inner),
                _ => {}
            }
        }
    }
    let not = schema.field("not").unwrap().get().unwrap();
    let mut bytes = Vec::new();
    for depth in 1..20_000 {
        let mut outer = Vec::new();
        write_varint(u64::from(not.number) << 3 | 2, &mut outer);
        write_varint(bytes.len() as u64, &mut outer);
        outer.extend_from_slice(&bytes);
        bytes = outer;
        if [100, 130, 19_999].contains(&depth) {
            let codec = Protobuf(Shape::Value(Kind::Message(schema)));
            let read = codec.read_owned::<Value>(&bytes);
            assert_eq!(read.is_ok(), depth == 100);
        }
    }
}

proptest! {
    #[test]
    fn changed_and_cut_bytes_are_read_or_refused(
        seed: u64, kind in 0..kinds().len(), places: Vec<(prop::sample::Index, u8)>, end: prop::sample::Index,
    ) {
        let kind = &kinds()[kind];
        let (mut bytes, _) = object(&kind.api_version(), &kind.kind, seed);
        for (place, byte) in places {
            let length = bytes.len();
            bytes[place.index(length)] = byte;
        }
        let _ = DOCUMENT.read_owned::<Value>(&bytes);
        let _ = DOCUMENT.read_owned::<Pod>(&bytes);
        bytes.truncate(end.index(bytes.len()));
        let _ = DOCUMENT.read_owned::<Value>(&bytes);
    }
}
