//! This reader and `serde_json` read the same.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt::{self, Debug, Formatter},
};

use proptest::prelude::*;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::{Error, Value, error::Category, value::RawValue};

use super::{Json, JsonIndex, Reader, at};
use crate::{client::codec::Codec, resource::TOO_DEEP};

/// Each way in which a type may ask for a value.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code)]
struct Everything<'a> {
    #[serde(borrow, default)]
    a: Option<Cow<'a, str>>,
    #[serde(default)]
    b: Option<i32>,
    #[serde(default)]
    c: Vec<Option<f64>>,
    #[serde(default)]
    d: Option<Choice>,
    #[serde(default)]
    e: BTreeMap<i64, bool>,
    #[serde(default)]
    f: Option<(u8, String)>,
    #[serde(default)]
    g: Option<char>,
    #[serde(default)]
    h: Option<Wrapped>,
    #[serde(default)]
    i: Option<i128>,
    #[serde(default)]
    j: Option<Untagged>,
    #[serde(default)]
    k: Option<()>,
    #[serde(default)]
    l: BTreeMap<Choice, u64>,
    #[serde(default)]
    m: Option<f32>,
    #[serde(default)]
    n: BTreeMap<bool, Box<Everything<'a>>>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    A,
    B(i8),
    C { a: Option<String> },
}

#[derive(Debug, Deserialize, PartialEq)]
struct Wrapped(u16);

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
    List(Vec<Value>),
}

#[derive(Deserialize)]
struct EncodedObject<'a> {
    #[serde(borrow)]
    a: &'a RawValue,
    b: Box<RawValue>,
    #[serde(default)]
    c: BTreeMap<String, Box<RawValue>>,
}

/// Why a text cannot be read: the kind of the error, and its text without a position, which our reader counts from the
/// beginning of a part.
#[derive(Debug, PartialEq)]
struct Wrong(Category, String);

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let position = format!(" at line {line} column {column}");
        let bare = text.strip_suffix(&position).unwrap_or(&text);
        Self(error.classify(), bare.to_owned())
    }
}

/// A text without an index is not JSON, and our reader does not read it. `serde_json` then reports the syntax error,
/// even if a value before it does not fit the type.
fn own<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Option<(Wrong, String)>> {
    let mut json_index = JsonIndex::default();
    json_index.make(text.as_bytes());
    let marks = json_index.marks().ok_or(None)?;
    let mut reader = Reader::new(text, marks, 0);
    let value = T::deserialize(&mut reader);
    value.map_err(|error| {
        Some((
            error.into(),
            reader.into_error_path().describe(String::new()),
        ))
    })
}

fn theirs<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, (Wrong, String)> {
    let mut inner = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut inner);
    let value = value.map_err(|error| {
        // The crate writes the root as a dot.
        let is_root = error.path().iter().next().is_none();
        let path = error.path().to_string();
        let path = if is_root { "" } else { &path };
        (error.into_inner().into(), at(path, String::new()))
    })?;
    let whole = inner.end().map(|()| value);
    whole.map_err(|error| (error.into(), String::new()))
}

fn same<'de, T: Deserialize<'de> + PartialEq + Debug>(text: &'de str) -> Result<(), TestCaseError> {
    match (own::<T>(text), theirs::<T>(text)) {
        (Err(None), Err(_)) => {}
        (Err(Some((own, _))), Err((theirs, _))) if is_told_otherwise(&own, &theirs) => {}
        (Err(Some((own, path))), Err((theirs, their_path))) => {
            prop_assert_eq!(&own, &theirs);
            let is_same = is_same_way(&own, &path, &their_path);
            prop_assert!(is_same, "{:?} {} {}", own, path, their_path);
        }
        (own, theirs) => prop_assert_eq!(own, theirs.map_err(Some)),
    }
    Ok(())
}

/// Cases in which our reader reports more than `serde_json`, which calls them syntax errors:
///
/// * a key that should be a number or a boolean, but is not. `serde_json` reads the number at the beginning of the key,
///   or quotes a part of the key or the text after it. Ours reports a string in place of another type;
/// * a number with a point in place of an integer of 128 bits;
/// * a tuple with more elements than it has, or an enum with no variant, with two variants, or in neither of its forms.
fn is_told_otherwise(Wrong(_, own): &Wrong, Wrong(_, theirs): &Wrong) -> bool {
    let is = |text: &str, begin: &str| {
        let is_expected = |kind| text.ends_with(&format!(", expected {kind}"));
        text.starts_with(begin) && (is_expected("i64") || is_expected("a boolean"))
    };
    const SYNTAX: [&str; 7] = [
        "invalid value: expected key to be a number in quotes",
        "invalid number",
        "number out of range",
        "expected `\"`",
        "expected ident",
        "EOF while parsing a string",
        "control character (\\u0000-\\u001F) found while parsing a string",
    ];
    let is_of_a_key = SYNTAX.contains(&theirs.as_str())
        || is(theirs, "invalid type: string ")
        || is(theirs, "invalid type: floating point ")
        || is(theirs, "invalid value: ");
    let key = is(own, "invalid type: string ") || is_surrogate(own);
    let is_wide = own == "invalid type: floating point number, expected an integer";
    let is_more = own.ends_with(", expected fewer elements");
    let is_form = own.ends_with(", expected a string or a map of one entry");
    (key && (is_of_a_key || is_surrogate(theirs)))
        || (is_more && ["trailing characters", "expected value"].contains(&theirs.as_str()))
        || (is_form && theirs == "expected value")
        || (is_wide && theirs.starts_with("expected `,` or "))
}

/// `serde_path_to_error` writes a question mark for a key that is not a string, counts a variant without its content as
/// a step, and puts a dot after an empty key that is the first.
fn is_same_way(Wrong(_, own): &Wrong, path: &str, theirs: &str) -> bool {
    let path = path.trim_start_matches('.');
    let begins_so = |begin: &str| path.starts_with(begin.trim_matches('.'));
    match theirs.split_once('?') {
        Some((known, _)) => begins_so(known),
        None if own.starts_with("invalid type: unit variant") => {
            let theirs = theirs.trim_start_matches('.');
            theirs.starts_with(path.trim_end_matches(": "))
        }
        None => path == theirs.trim_start_matches('.'),
    }
}

/// If a key should be a boolean and begins with a character that is not ASCII, `serde_json` 1.0.154 removes its first
/// byte and reads the rest. That is not valid text, so it panics.
fn breaks_theirs(text: &str) -> bool {
    let is_such = |pair: &[u8]| matches!(pair, [b'"', first] if !first.is_ascii());
    text.contains("\"n\"") && text.as_bytes().windows(2).any(is_such)
}

/// Half of a surrogate pair. Both readers notice it only when they read the string.
fn is_surrogate(text: &str) -> bool {
    [
        "lone leading surrogate in hex escape",
        "unexpected end of hex escape",
    ]
    .contains(&text)
}

fn value() -> impl Strategy<Value = Value> {
    let key = "[a-n]|[A-C]|-?[0-9]{1,3}|true|\\PC{0,3}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0..300u32).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,20}|[A-C]|[\"\\\\\n\u{1}/a-z]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Texts that mostly fit the types.
fn fitting() -> impl Strategy<Value = String> {
    let number = "-?[0-9]{1,20}|-?[0-9]{1,3}[.][0-9]{1,3}|[0-9]e[+-]?[0-9]{1,3}|-0|00";
    let text = "\"[a-c\u{e9}]{0,4}\"|\"(\\\\[nt\"u/b]|\\\\u[0-9a-fD]{4}|[a-z]){0,4}\"";
    let field = prop_oneof![
        text.prop_map(|text| format!("\"a\":{text}")),
        number.prop_map(|number| format!("\"b\":{number}")),
        prop::collection::vec(number, 0..4)
            .prop_map(|all| format!("\"c\": [{},null]", all.join(" , "))),
        "\"d\":(\"A\"|\\{\"B\":[0-9]{1,3}\\}|\\{\"C\":\\{\"a\":\"x\"\\}\\}|\\{\\}|\"B\"|\\{\"A\":null\\}|\\{\"B\":1,\"C\":2\\})",
        "\"e\":\\{(\"-?[0-9]{1,4} ?\":true,){0,2}\"[0-9]\":false\\}",
        "\"e\":\\{\"( 1|0[0-9]|-|1[.]5|1e[0-9]{3}|[0-9]{20}x?|[0-9]x|true|[a-z]{0,2})\":true\\}",
        "\"f\":\\[[0-9]{1,3},\"x\"(,1)?\\]",
        text.prop_map(|text| format!("\"g\":{text}")),
        number.prop_map(|number| format!("\"h\":{number}")),
        number.prop_map(|number| format!("\"i\":{number}")),
        number.prop_map(|number| format!("\"j\":{number}")),
        text.prop_map(|text| format!("\"j\":[{text}]")),
        "\"k\":(null|1)",
        "\"l\":\\{\"[AB]\":[0-9]{1,2}\\}",
        number.prop_map(|number| format!("\"m\":{number}")),
        "\"n\":\\{\"(true|false|1)\":\\{\"b\":1\\}\\}",
        "\"n\":\\{\"(tru|truex|f|null|[a-z]?)\":\\{\"b\":(1|x|\"x\")\\}\\}",
        (text, number).prop_map(|(key, number)| format!("{key}:{{\"x\":[{number}]}}")),
    ];
    prop::collection::vec(field, 0..5).prop_map(|fields| format!("{{{}}}", fields.join(",\n ")))
}

fn text() -> impl Strategy<Value = String> {
    let whole = prop_oneof![
        2 => value().prop_map(|value| value.to_string()),
        1 => value().prop_map(|value| format!("{value:#}")),
        4 => fitting(),
    ];
    // A few bytes are lost, doubled or changed.
    let slip = (
        any::<prop::sample::Index>(),
        prop::option::of("[\\]\\[{}:,\"\\\\ a0-9.e\t\u{1}u-]"),
    );
    (whole, prop::collection::vec(slip, 0..3), 0..3u8).prop_map(|(whole, slips, kind)| {
        let mut all: Vec<char> = whole.chars().collect();
        for (at, other) in slips.into_iter().take(usize::from(kind)) {
            if all.is_empty() {
                break;
            }
            let at = at.index(all.len());
            match other {
                Some(other) if kind == 1 => all.insert(at, other.chars().next().unwrap_or(' ')),
                Some(other) => all[at] = other.chars().next().unwrap_or(' '),
                None => _ = all.remove(at),
            }
        }
        all.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn both_read_the_same_from_the_same_text(text in text()) {
        same::<Value>(&text)?;
        if !breaks_theirs(&text) {
            same::<Everything<'_>>(&text)?;
        }
        same::<BTreeMap<String, Untagged>>(&text)?;
        same::<Vec<Value>>(&text)?;
        same::<String>(&text)?;
        same::<Option<f64>>(&text)?;
        same::<BTreeMap<i64, Option<bool>>>(&text)?;
        same::<IgnoredAny>(&text)?;
    }

    #[test]
    fn raw_values_are_the_same(a in value(), b in value(), pretty: bool) {
        let all = serde_json::json!({"a": a, "b": b, "c": {"k": b}});
        let text = if pretty { format!("{all:#} ") } else { all.to_string() };
        let (own, theirs) = (own::<EncodedObject<'_>>(&text).unwrap(), theirs::<EncodedObject<'_>>(&text).unwrap());
        prop_assert_eq!(own.a.get(), theirs.a.get());
        prop_assert_eq!(own.b.get(), theirs.b.get());
        prop_assert_eq!(own.c["k"].get(), theirs.c["k"].get());
    }
}

#[test]
fn lists_have_no_spare_room() {
    for count in [1, 3, 5, 9] {
        let text = serde_json::json!({ "a": vec!["x"; count] }).to_string();
        let read: BTreeMap<String, Vec<String>> = Json.read_owned(text.as_bytes()).unwrap();
        assert_eq!(read["a"].capacity(), count);
    }
}

#[test]
fn text_borrows_where_it_can() {
    let text = r#"{"a":"plain","b":"new\nline"}"#;
    let read: BTreeMap<&str, Cow<'_, str>> = own(r#"{"a":"plain"}"#).unwrap();
    assert_eq!(read["a"], "plain");
    assert!(own::<BTreeMap<&str, &str>>(text).is_err());
    let read: BTreeMap<&str, String> = own(text).unwrap();
    assert_eq!(read["b"], "new\nline");
}

#[test]
fn both_readers_refuse_the_same_depth() {
    for depth in 120..135 {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let read = |text: &str| Json.read_owned::<Value>(text.as_bytes()).is_ok();
        assert_eq!(read(&text), theirs::<Value>(&text).is_ok(), "{depth}");
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(read(&deep), theirs::<Value>(&deep).is_ok(), "{depth}");
    }
}

/// Takes one item of a list, whatever its length.
#[derive(Debug)]
struct First;

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;

        impl<'de> Visitor<'de> for Visit {
            type Value = First;

            fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<First, A::Error> {
                items.next_element::<IgnoredAny>().map(|_| First)
            }
        }

        deserializer.deserialize_seq(Visit)
    }
}

#[test]
fn the_reason_names_the_error() {
    fn reason<T: DeserializeOwned + Debug>(text: &str) -> String {
        Json.read_owned::<T>(text.as_bytes()).unwrap_err()
    }
    // The text is not JSON. `serde_json` says where, whatever the type.
    assert_eq!(
        reason::<Vec<u8>>("[\"\",\n x]"),
        "[1]: not JSON: expected value at line 2 column 2"
    );
    assert_eq!(reason::<Vec<u8>>("[1"), "the JSON ends too early");
    // The text is JSON of another type.
    assert_eq!(
        reason::<Vec<u8>>("[1, 300]"),
        "[1]: expected u8, found an integer"
    );
    for key in ["x", "", "1 ", " 1", "01", "1x"] {
        let text = format!("{{\"{key}\":0}}");
        let found = reason::<BTreeMap<i64, u8>>(&text);
        assert_eq!(found, at(key, "expected i64, found a string".into()));
    }
    for key in ["x", "", "tru", "truex", "true ", "1", "null"] {
        let text = format!("{{\"{key}\":0}}");
        let found = reason::<BTreeMap<bool, u8>>(&text);
        assert_eq!(found, at(key, "expected a boolean, found a string".into()));
    }
    // `serde_json` calls the rest of the number, and of the list, trailing characters.
    assert_eq!(
        reason::<i128>("1.5"),
        "expected an integer, found a floating point number"
    );
    assert_eq!(reason::<First>("[1, 2]"), "expected fewer elements");
    for (text, found) in [
        (
            "3",
            "expected a string or a map of one entry, found an integer",
        ),
        ("{}", "expected a string or a map of one entry"),
        ("{\"A\": null, \"B\": 1}", "expected fewer elements"),
        ("{\"B\": \"x\"}", "B: expected i8, found a string"),
        ("\"B\"", "expected newtype variant"),
    ] {
        assert_eq!(reason::<Choice>(text), found);
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(127), "]".repeat(127));
    let found = reason::<Value>(&deep);
    let place = format!("a{}…", "[0]".repeat(31));
    assert_eq!(found, at(&place, TOO_DEEP.to_owned()));
    // Only the string itself was read, so its line is not reported.
    assert_eq!(
        reason::<Vec<String>>("[\"\",\n \"\\ud800\"]"),
        "[1]: not JSON: unexpected end of hex escape"
    );
}

#[test]
fn the_types_at_the_beginning_of_an_object_are_read_without_the_rest() {
    let types = Some(["apps/v1", "Deployment"]);
    for (text, expected) in [
        (
            r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{}}"#,
            types,
        ),
        (r#"{"apiVersion":"apps/v1","kind":"Deployment"}"#, types),
        (r#"{"apiVersion":"apps/v1","kind":"Deployment"#, None),
        // The whole object has to be read for these.
        (r#"{"apiVersion":"apps\u002fv1","kind":"Deployment"}"#, None),
        (
            r#"{"metadata":{},"apiVersion":"apps/v1","kind":"Deployment"}"#,
            None,
        ),
        (
            r#"{"apiVersion":"apps/v1","metadata":{},"kind":"Deployment"}"#,
            None,
        ),
        (r#"{"kind":"a","kind":"b"}"#, None),
        (r#"{ "apiVersion": "apps/v1", "kind": "Deployment" }"#, None),
        (r#"{"kind":1,"apiVersion":"apps/v1"}"#, None),
        ("", None),
    ] {
        assert_eq!(Json.types_of(text.as_bytes()), expected, "{text}");
    }
}
