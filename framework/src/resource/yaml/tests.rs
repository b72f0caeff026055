use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::read;

/// Documents as people write them, and worse.
const DOCUMENTS: [&str; 44] = [
    "",
    "# nothing\n",
    "---\n",
    "~",
    "{}",
    "[]",
    "text: plain\nflag: true",
    "text: 'in quotes'\nflag: yes",
    "text: \"\\u00e9\\n\"\nflag: off",
    "text: |\n  two\n  lines\n",
    "text: >-\n  one\n  line\n",
    "text: 12345",
    "text: 0123",
    "text: 0x1F",
    "text: 0o17",
    "text: 1.50",
    "text: -1",
    "text: 1e400",
    "text: .nan",
    "text: 99999999999999999999999",
    "text: yes",
    "text: null",
    "text: ~",
    "text: ''",
    "text:",
    "text: [a]",
    "text: {a: b}",
    "flag: 'true'",
    "flag: \"No\"",
    "flag: maybe",
    "flag: 1",
    "flag: null",
    "list: [a, 1, true, 'b']",
    "list: null",
    "list: [null]",
    "list: a",
    "list: {a: b}",
    "map: {a: [b], c: null, 1: [2.0]}",
    "map: null",
    "map: [a]",
    "base: &b {text: x}\n<<: *b\nflag: true",
    "any: &a 007\ntext: *a\nlist: [*a, *a]",
    "any: {a: [1, -2, 3.5, x, null, true, {b: 18446744073709551615}]}",
    "text: a\n  flag: true\n- x",
];

#[derive(Deserialize, Debug, PartialEq, Default)]
#[serde(default)]
struct Probe {
    text: Option<String>,
    flag: Option<bool>,
    list: Option<Vec<String>>,
    map: Option<BTreeMap<String, Vec<String>>>,
    any: Option<Value>,
}

#[derive(Deserialize, Debug, PartialEq)]
struct Strict {
    #[serde(default)]
    text: String,
    #[serde(default)]
    list: Vec<String>,
    #[serde(default)]
    map: BTreeMap<String, Vec<String>>,
}

#[test]
fn a_type_is_read_from_the_tree_as_it_is_from_the_text() {
    for text in DOCUMENTS {
        let direct = serde_saphyr::from_str::<Probe>(text);
        assert_eq!(read(text).ok(), direct.ok(), "{text}");
        let direct = serde_saphyr::from_str::<Strict>(text);
        assert_eq!(read(text).ok(), direct.ok(), "{text}");
    }
}

#[test]
fn what_does_not_fit_has_its_place() {
    let place = |text: &str| {
        let wrong = read::<Probe>(text).unwrap_err();
        let place = wrong.place.unwrap();
        (place.line(), place.column(), wrong.is_twice)
    };
    assert_eq!(place("text: a\nflag: maybe"), (2, 7, false));
    assert_eq!(place("list:\n- a\n- [b]"), (3, 3, false));
    assert_eq!(place("map:\n  a:\n  - {b: c}"), (3, 5, false));
    assert_eq!(place("text: a\ntext: b"), (2, 1, true));
    assert_eq!(place("text: [a"), (1, 7, false));
}

/// On the stack of a test, which is that of a runtime's thread.
#[test]
fn a_document_may_be_deep_but_not_too_deep() {
    let [lists, maps] = [("[", "]"), ("{a: ", "}")]
        .map(|(begin, end)| move |depth| format!("{}{}", begin.repeat(depth), end.repeat(depth)));
    assert!(read::<Value>(&lists(47)).is_ok() && read::<Value>(&maps(47)).is_ok());
    for depth in [64, 100_000] {
        assert!(read::<Value>(&lists(depth)).is_err() && read::<Value>(&maps(depth)).is_err());
    }
}
