use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Problem, YamlError, from_str, read};
use crate::resource::{PathStep, to_yaml};

fn json_of(text: &str) -> Result<Value, YamlError> {
    read(text, false)?.to_json()
}

/// Line, column and problem of the error that reading `text` gives.
fn wrong(text: &str) -> (usize, usize, Problem) {
    let error = read(text, true)
        .and_then(|node| node.to_json())
        .unwrap_err();
    (error.place().line, error.place().column, error.problem)
}

/// The table was made with `kubectl label --local -o json`.
#[test]
fn structure_is_read_as_kubectl_reads_it() {
    let table = [
        ("", json!(null)),
        ("# nothing\n", json!(null)),
        ("---\na: 1\n...\n", json!({"a": 1})),
        (
            "a:\n- 1\n-\n- b: {c: d}\n",
            json!({"a": [1, null, {"b": {"c": "d"}}]}),
        ),
        (
            "a: |\n  x\n   y\nb: >-\n  x\n  y\n",
            json!({"a": "x\n y\n", "b": "x y"}),
        ),
        (
            "a: 'it''s'\nb: \"\\u00e9\\n\"\n",
            json!({"a": "it's", "b": "é\n"}),
        ),
        (
            "{1: a, true: b, yes: c, 1.5: d, 010: e}",
            json!({"1": "a", "true": "c", "1.5": "d", "8": "e"}),
        ),
        ("{a: 1, a: 2}", json!({"a": 2})),
        ("{? a : b}", json!({"a": "b"})),
        (
            "a: &x [1, &y z]\nb: *x\nc: *y\n*y : d",
            json!({"a": [1, "z"], "b": [1, "z"], "c": "z", "z": "d"}),
        ),
        ("a: &x 1\nb: &x 2\nc: *x", json!({"a": 1, "b": 2, "c": 2})),
        ("{<<: {a: 1, b: 1}, b: 2}", json!({"a": 1, "b": 2})),
        (
            "{b: 2, <<: [{a: 1}, {a: 2, b: 1, c: 3}]}",
            json!({"a": 1, "b": 1, "c": 3}),
        ),
        ("{<<: {a: 1}, <<: {a: 2}}", json!({"a": 2})),
        ("{!!merge <<: {a: 1}, b: 2}", json!({"a": 1, "b": 2})),
        ("a: \"x\n y\"", json!({"a": "x y"})),
        ("{'<<': {a: 1}}", json!({"<<": {"a": 1}})),
        (
            "[!!str 1, !!int '3', !!float 2, !!binary aGk=, !foo 1, !!foo 1, ! 1]",
            json!(["1", 3, 2, "hi", "1", "1", "1"]),
        ),
        ("[!!str , !!null '']", json!(["", null])),
        (
            "[9223372036854775808, -0x10]",
            json!([9_223_372_036_854_775_808_u64, -16]),
        ),
    ];
    for (text, expected) in table {
        assert_eq!(json_of(text), Ok(expected), "{text}");
    }
}

#[test]
fn each_problem_is_reported_at_its_place() {
    let table = [
        ("a: b: c", (1, 5, Problem::Syntax)),
        ("a: [1", (1, 4, Problem::Syntax)),
        ("a: 1\n---\nb: 2\n", (2, 1, Problem::Syntax)),
        ("x:\n  a: 1\n  b: 2\n  'a': 3\n", (4, 3, Problem::Duplicate)),
        ("{1: a, '1': b}", (1, 8, Problem::Duplicate)),
        ("a: *x", (1, 4, Problem::Alias)),
        ("a: &x\n- *x\n", (2, 3, Problem::Alias)),
        ("{[a]: b}", (1, 2, Problem::Key)),
        ("{~: b}", (1, 2, Problem::Key)),
        ("{9223372036854775808: b}", (1, 2, Problem::Key)),
        ("<<: 5", (1, 5, Problem::Merge)),
        ("<<: [{a: 1}, 5]", (1, 14, Problem::Merge)),
        ("a: !!int x", (1, 10, Problem::Tag)),
        ("a: !!null x", (1, 11, Problem::Tag)),
        ("a: !!binary '!'", (1, 13, Problem::Tag)),
        ("a:\n- .inf", (2, 3, Problem::Number)),
    ];
    for (text, expected) in table {
        assert_eq!(wrong(text), expected, "{text}");
    }
}

#[test]
fn nesting_and_repetition_are_limited() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(read(&nested(128), true).is_ok());
    assert_eq!(wrong(&nested(129)).2, Problem::Depth);
    assert_eq!(wrong(&"- ".repeat(1000)).2, Problem::Depth);

    let doubled = (1..40).fold("- &a0 x\n".to_owned(), |text, n| {
        let before = n - 1;
        format!("{text}- &a{n} [*a{before}, *a{before}]\n")
    });
    assert_eq!(wrong(&doubled).2, Problem::Alias);
    let long = format!("- &a {}\n{}", "x".repeat(1 << 20), "- *a\n".repeat(100));
    assert_eq!(wrong(&long).2, Problem::Alias);
    let anchored = "&a [".repeat(100) + &"x,".repeat(100_000) + &"]".repeat(100);
    assert_eq!(wrong(&anchored).2, Problem::Alias);
    let wrapped = (1..200).fold("- &a0 [x]\n".to_owned(), |text, n| {
        format!("{text}- &a{n} [*a{}]\n", n - 1)
    });
    assert_eq!(wrong(&wrapped).2, Problem::Depth);
}

#[test]
fn the_deepest_document_needs_no_large_stack() {
    // The stack of a tokio worker thread.
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let checked = small.spawn(|| {
        for (open, close) in [("[", "]"), ("{a: ", "}"), ("[{a: ", "}]"), ("&x [", "]")] {
            let levels = 128 / open.matches(['[', '{']).count();
            let text = format!("{}1{}", open.repeat(levels), close.repeat(levels));
            let node = read(&text, true).unwrap();
            assert_eq!(node.clone(), node);
            let json = node.to_json().unwrap();
            assert_eq!(from_str::<Value>(&text).unwrap(), json);
            assert!(!format!("{json:#?} {node:#?}").is_empty());
        }
    });
    checked.unwrap().join().unwrap();
}

#[test]
fn the_line_of_a_path_is_found() {
    let text = "a:\n  b:\n  - c\n  -\n    d: 1\n    d: 2\nx: &x\n  w: 1\nz: *x\n";
    let root = read(text, false).unwrap();
    let line = |path: &[PathStep]| root.line_of(path);
    let (key, index) = (|key: &str| PathStep::Key(key.into()), PathStep::Index);
    assert_eq!(line(&[]), 1);
    assert_eq!(line(&[key("a"), key("b")]), 2);
    assert_eq!(line(&[key("a"), key("b"), index(0)]), 3);
    assert_eq!(
        line(&[key("a"), key("b"), index(1), key("d")]),
        6,
        "the last counts"
    );
    assert_eq!(line(&[key("a"), key("b"), index(1), key("e"), key("f")]), 5);
    assert_eq!(line(&[key("z")]), 9);
    assert_eq!(line(&[key("z"), key("w")]), 8);
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct Typed {
    text: String,
    maybe: Option<String>,
    flag: Option<bool>,
    number: u8,
    list: Vec<String>,
    map: BTreeMap<String, Option<i64>>,
}

#[test]
fn a_string_field_reads_a_number_as_the_text_that_is_written() {
    let text = "text: 0.10\nmaybe: yes\nflag: yes\nnumber: 0x1f\nlist: [on, '', 1_0]\nmap: {1: 2, a: }\nunknown: [{}]\n";
    let expected = Typed {
        text: "0.10".into(),
        maybe: Some("yes".into()),
        flag: Some(true),
        number: 31,
        list: vec!["on".into(), String::new(), "1_0".into()],
        map: [("1".into(), Some(2)), ("a".into(), None)].into(),
    };
    assert_eq!(from_str(text), Ok(expected));
    assert_eq!(from_str("{maybe: ~}"), Ok(Typed::default()));
}

#[test]
fn an_error_about_a_value_that_does_not_fit_never_shows_the_value() {
    let table = [
        (
            "text: [hunter2]",
            "line 1, column 7: expected a string, found a list",
        ),
        ("text: ", "line 1, column 5: expected a string, found null"),
        (
            "text: a\nlist:\n- a\n- {b: hunter2}\n",
            "line 4, column 3: expected a string, found an object",
        ),
        (
            "flag: 'yes'",
            "line 1, column 7: expected a boolean, found a string",
        ),
        (
            "number: 256",
            "line 1, column 9: expected u8, found an integer",
        ),
        ("- hunter2", "line 1, column 1: expected an object"),
        (
            "map: {a: .inf}",
            "line 1, column 10: JSON does not have this number",
        ),
        (
            "text: a\ntext: b",
            "line 2, column 1: duplicate key: remove all but one",
        ),
    ];
    for (text, expected) in table {
        let error = from_str::<Typed>(text).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = "y|n|on|Off|~|null|true|<<|[-+]?[0-9._:xob]{1,6}|[-+]?[.](inf|nan)|[ -~é\n]{0,6}|- a|a: b|#c|'|\"|[*&!%@`]x";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn written_yaml_reads_back_as_the_same_json(value in any_json()) {
        let text = to_yaml([&value]).unwrap();
        let read = read(&text, true).and_then(|node| node.to_json());
        prop_assert_eq!(read, Ok(value), "{}", text);
    }

    #[test]
    fn any_text_gives_a_node_or_an_error_with_a_valid_line(text in "([-\n :{}\\[\\],\"'&*!|#%a1~<é\u{feff}]|<<: |&a |[*]a |!!int |---|\\.\\.\\.|\n  ){0,40}") {
        for strict in [true, false] {
            if let Err(error) = read(&text, strict) {
                let lines = text.lines().count();
                prop_assert!((1..=lines + 1).contains(&error.place().line), "{error} of {text:?}");
            }
        }
    }
}
