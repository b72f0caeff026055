//! This reader and `serde_json` read the same.

use std::{borrow::Cow, collections::BTreeMap, fmt::Debug};

use proptest::prelude::*;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

use super::{Json, Outline, Reader};
use crate::client::codec::Codec;

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
struct Kept<'a> {
    #[serde(borrow)]
    a: &'a RawValue,
    b: Box<RawValue>,
    #[serde(default)]
    c: BTreeMap<String, Box<RawValue>>,
}

fn own<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    let mut outline = Outline::default();
    let marks = outline.of(text).ok()?;
    T::deserialize(&mut Reader::new(text, marks)).ok()
}

fn theirs<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    serde_json::from_str(text).ok()
}

fn same<'de, T: Deserialize<'de> + PartialEq + Debug>(text: &'de str) -> Result<(), TestCaseError> {
    prop_assert_eq!(own::<T>(text), theirs::<T>(text));
    Ok(())
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

/// Mostly of a shape that the types take.
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
    // A few bytes are lost, doubled or others.
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
        same::<Everything<'_>>(&text)?;
        same::<BTreeMap<String, Untagged>>(&text)?;
        same::<Vec<Value>>(&text)?;
        same::<String>(&text)?;
        same::<Option<f64>>(&text)?;
        let ignored = own::<IgnoredAny>(&text).is_some();
        prop_assert_eq!(ignored, theirs::<IgnoredAny>(&text).is_some());
    }

    #[test]
    fn what_is_kept_as_it_came_is_the_same(a in value(), b in value(), pretty: bool) {
        let all = serde_json::json!({"a": a, "b": b, "c": {"k": b}});
        let text = if pretty { format!("{all:#} ") } else { all.to_string() };
        let (own, theirs) = (own::<Kept<'_>>(&text).unwrap(), theirs::<Kept<'_>>(&text).unwrap());
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
    assert!(own::<BTreeMap<&str, &str>>(text).is_none());
    let read: BTreeMap<&str, String> = own(text).unwrap();
    assert_eq!(read["b"], "new\nline");
}

#[test]
fn depth_has_the_same_end() {
    for depth in 120..135 {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let read = |text: &str| Json.read_owned::<Value>(text.as_bytes()).is_ok();
        assert_eq!(read(&text), theirs::<Value>(&text).is_some(), "{depth}");
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(read(&deep), theirs::<Value>(&deep).is_some(), "{depth}");
    }
}
