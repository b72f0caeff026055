//! Objects with random values in random fields, made from the table.

use fastrand::Rng;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::form::Form;
use super::table::{Kind, MessageId, message_of};
use super::{decode, encode};

const KINDS: [(&str, &str); 10] = [
    ("v1", "Pod"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "Node"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "CronJob"),
    ("events.k8s.io/v1", "Event"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("authorization.k8s.io/v1", "SubjectAccessReview"),
];

/// Some fields of a message. Deeper messages have fewer.
fn fill(id: MessageId, object: &mut Map<String, Value>, depth: u32, random: &mut Rng) {
    for field in &id.message().fields {
        if random.u32(..8) < depth {
            continue;
        }
        match &field.kind {
            Kind::Message(inner) if field.inline => fill(*inner, object, depth + 1, random),
            kind => {
                object.insert(field.name.to_string(), value(kind, depth + 1, random));
            }
        }
    }
}

/// A value that differs from the zero value.
fn value(kind: &Kind, depth: u32, random: &mut Rng) -> Value {
    let text = |random: &mut Rng| {
        let letters = (0..random.usize(1..9)).map(|_| random.choice(['a', '"', 'é', '\0', '7']));
        Value::from(letters.flatten().collect::<String>())
    };
    let number = |random: &mut Rng| random.i32(1..) * random.choice([-1, 1]).unwrap_or(1);
    match kind {
        Kind::String => text(random),
        Kind::Bool => true.into(),
        Kind::Int32 => number(random).into(),
        Kind::Int64 => (i64::from(number(random)) << random.u8(..32)).into(),
        Kind::Double => random.choice([0.5, -2.25, 1e300]).into(),
        Kind::Bytes => random.choice(["AQ==", "AQID", "/+8="]).into(),
        Kind::List(inner) => (0..random.usize(1..3))
            .map(|_| value(inner, depth, random))
            .collect(),
        Kind::Map(inner) => {
            let entries = (0..random.usize(1..3))
                .map(|place| (format!("{place}"), value(inner, depth, random)));
            Value::Object(entries.collect())
        }
        Kind::Message(id) => {
            let mut object = Map::new();
            fill(*id, &mut object, depth, random);
            object.into()
        }
        Kind::Own(form, id) => own(*form, *id, depth, random),
    }
}

fn own(form: Form, id: MessageId, depth: u32, random: &mut Rng) -> Value {
    let schema = |random: &mut Rng| {
        let schema = id
            .message()
            .fields
            .iter()
            .find(|field| &*field.name == "schema");
        schema.map_or(Value::Null, |field| value(&field.kind, depth + 2, random))
    };
    match form {
        Form::Time => random
            .choice([
                "1970-01-01T00:00:00Z",
                "0001-01-01T00:00:01Z",
                "9999-12-31T23:59:59Z",
            ])
            .into(),
        Form::MicroTime => random
            .choice(["1969-12-31T23:59:59.999999Z", "2026-01-01T00:00:00.000000Z"])
            .into(),
        Form::Quantity => random.choice(["1", "100m", "1536Mi", "-5n", "1e3"]).into(),
        Form::IntOrString => random.choice([json!(80), json!("http"), json!(-1)]).into(),
        Form::Json => random
            .choice([json!({"a": [null, 1.5]}), json!(""), json!(false)])
            .into(),
        Form::Items => json!(["a", ""]),
        Form::SchemaOrBool if random.bool() => true.into(),
        Form::SchemaOrStrings if random.bool() => json!(["a", ""]),
        Form::SchemaOrArray if random.bool() => json!([schema(random)]),
        Form::SchemaOrArray | Form::SchemaOrBool | Form::SchemaOrStrings => schema(random),
    }
}

/// Whether `whole` has everything that `part` has.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, part)| whole.get(name).is_some_and(|whole| contains(whole, part))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len()
                && whole
                    .iter()
                    .zip(part)
                    .all(|(whole, part)| contains(whole, part))
        }
        (whole, part) => whole == part,
    }
}

proptest! {
    #[test]
    fn an_object_is_read_back_with_all_its_values(seed: u64, kind in 0..KINDS.len()) {
        let (api_version, kind) = KINDS[kind];
        let mut object = Map::new();
        let mut random = Rng::with_seed(seed);
        fill(message_of(api_version, kind).unwrap(), &mut object, 0, &mut random);
        object.insert("apiVersion".into(), api_version.into());
        object.insert("kind".into(), kind.into());
        let object = Value::Object(object);
        let bytes = encode(&object).unwrap();
        let read = decode(&bytes, ("", ""), |object| object).unwrap();
        prop_assert!(contains(&read, &object));
        prop_assert_eq!(encode(&read), Some(bytes));
    }

    #[test]
    fn changed_bytes_are_refused_or_read(seed: u64, kind in 0..KINDS.len(), places: Vec<prop::sample::Index>, byte: u8) {
        let (api_version, kind) = KINDS[kind];
        let mut object = Map::new();
        let mut random = Rng::with_seed(seed);
        fill(message_of(api_version, kind).unwrap(), &mut object, 2, &mut random);
        object.insert("apiVersion".into(), api_version.into());
        object.insert("kind".into(), kind.into());
        let mut bytes = encode(&object.into()).unwrap();
        for place in places {
            let length = bytes.len();
            bytes[place.index(length)] = byte;
        }
        if let Ok(read) = decode(&bytes, ("v1", "Pod"), |object| object)
            && let Some(written) = encode(&read)
        {
            let again = decode(&written, ("", ""), |object| object).unwrap();
            prop_assert_eq!(encode(&again), Some(written));
        }
    }
}
