use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::Selector;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

#[test]
fn every_form_parses_as_in_apimachinery() {
    for (text, written) in [
        ("", ""),
        ("x", "x"),
        ("!x", "!x"),
        ("! x , y", "!x,y"),
        ("x=a", "x=a"),
        ("x==a,y!=b", "x=a,y!=b"),
        ("x=", "x="),
        ("x=,y", "x=,y"),
        ("x in (a,b)", "x in (a,b)"),
        ("x in ()", "x="),
        ("x in(b , a)", "x in (a,b)"),
        ("x notin (a)", "x!=a"),
        ("x in (,a)", "x in (,a)"),
        ("x in (a,)", "x in (,a)"),
        ("x>1,y<2", "x>1,y<2"),
        ("in in (in)", "in=in"),
        ("notin", "notin"),
        ("example.com/a_b.c=d", "example.com/a_b.c=d"),
        ("x=in", "x=in"),
    ] {
        let read: Selector = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.to_string(), written, "{text}");
    }
}

#[test]
fn a_selector_that_the_server_would_refuse_is_an_error_that_names_the_problem() {
    let long = "a".repeat(64);
    for (text, problem) in [
        ("x in (a", "expected `,` or `)`, found the end"),
        ("x in a", "expected `(`, found `a`"),
        (
            "x y",
            "expected `=`, `!=`, `in`, `notin`, `<` or `>` after `x`, found `y`",
        ),
        ("x,", "expected a key, found the end"),
        (",x", "expected a key, found `,`"),
        ("!x=a", "expected `,` or the end, found `=`"),
        ("x=a b", "expected `,` or the end, found `b`"),
        ("x=(", "expected a value, found `(`"),
        ("x>a", "`x` can only be compared with one integer"),
        (
            "-x",
            "the key `-x` must consist of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
        ),
        (
            "A.com/x",
            "the key `A.com/x` must have a lower-case DNS name before the `/`",
        ),
        (
            "x=a/b",
            "the value `a/b` of `x` must consist of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
        ),
        (
            &*format!("x={long}"),
            &*format!("the value `{long}` of `x` must have at most 63 characters"),
        ),
    ] {
        let error = text.parse::<Selector>().unwrap_err();
        assert_eq!(error.problem, problem, "{text}");
        assert_eq!(error.selector, text);
    }
}

#[test]
fn a_selector_selects_an_object_if_every_requirement_holds() {
    let object = labels(&[("app", "web"), ("size", "5"), ("empty", "")]);
    for (selector, meant) in [
        ("", true),
        ("app=web,size>4", true),
        ("size<5", false),
        ("app>1", false),
        ("none<1", false),
        ("app!=web", false),
        ("none!=web", true),
        ("none notin (a,b)", true),
        ("app in (db,web),!none", true),
        ("!app", false),
        ("none", false),
        ("empty=", true),
        ("none=", false),
    ] {
        let selector: Selector = selector.parse().unwrap();
        assert_eq!(selector.matches(&object), meant, "{selector}");
    }
}

#[test]
fn a_value_that_is_not_a_label_never_becomes_a_requirement_of_its_own() {
    let built = Selector::default().eq("app", "web,tier=x").exists("a b");
    assert_eq!(built.to_string(), "app=\"web,tier=x\",\"a b\"");
    assert!(built.to_string().parse::<Selector>().is_err());
    assert_eq!(
        built.check().unwrap_err().to_string(),
        "invalid selector `app=\"web,tier=x\"`: the value `web,tier=x` of `app` must consist of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends"
    );
}

#[test]
fn the_label_selector_of_an_object_converts_to_the_same_requirements() {
    let expression = |key: &str, operator: &str, values: &[&str]| LabelSelectorRequirement {
        key: key.into(),
        operator: operator.into(),
        values: Some(values.iter().map(|value| (*value).to_owned()).collect()),
    };
    let of = |expressions| {
        Selector::try_from(&LabelSelector {
            match_labels: Some(labels(&[("app", "web")])),
            match_expressions: Some(expressions),
        })
    };
    let all = of(vec![
        expression("a", "In", &["x", "y"]),
        expression("b", "NotIn", &["x"]),
        expression("c", "Exists", &[]),
        expression("d", "DoesNotExist", &[]),
    ]);
    assert_eq!(all.unwrap().to_string(), "app=web,a in (x,y),b!=x,c,!d");
    for wrong in [("In", &[][..]), ("Exists", &["x"]), ("Near", &["x"])] {
        assert!(of(vec![expression("a", wrong.0, wrong.1)]).is_err());
    }
}
