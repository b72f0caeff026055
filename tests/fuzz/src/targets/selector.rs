//! Checks that a written selector is read back as the same selector with the same meaning, and that the client and the
//! sandbox agree about selectors.

use std::collections::BTreeMap;

use pilothouse::resource::{FieldSelector, Selector};
use pilothouse_sandbox::internals::selector;
use serde_json::json;

use crate::input;

pub(crate) fn run(data: &[u8]) {
    let [text, labels] = input::parts(data);
    let (Ok(text), Ok(labels)) = (str::from_utf8(text), str::from_utf8(labels)) else {
        return;
    };
    let pairs = labels.split('\n').filter_map(|line| line.split_once('='));
    let labels: BTreeMap<_, _> = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let read = text.parse::<Selector>();
    let selected = selector::selects(text, &json!({"metadata": {"labels": labels}}));
    let ours = read.as_ref().map(|selector| selector.matches(&labels));
    assert_eq!(
        ours.as_ref().ok(),
        selected.as_ref().ok(),
        "{ours:?} {selected:?}"
    );
    if let Ok(selector) = read {
        selector
            .check()
            .expect("what is read is what a server takes");
        let written = selector.to_string();
        let again: Selector = written.parse().unwrap_or_else(|e| panic!("{written}: {e}"));
        assert_eq!(again, selector, "{written}");
        assert_eq!(again.matches(&labels), selector.matches(&labels));
    }
    let of_fields = selector::is_of_fields(text);
    if let Ok(selector) = text.parse::<FieldSelector>() {
        assert!(of_fields, "{text}");
        let written = selector.to_string();
        let again: FieldSelector = written.parse().unwrap_or_else(|e| panic!("{written}: {e}"));
        assert_eq!(again, selector, "{written}");
        assert!(selector::is_of_fields(&written), "{written}");
    }
    // A selector that is built from parts is read back unchanged, or refused.
    let mut together = Selector::default();
    let mut fields = FieldSelector::default();
    for (key, value) in &labels {
        together = together.eq(key, value).none_of(key, [value, text]);
        fields = fields.eq(key, value).not_eq(text, value);
    }
    match together.check() {
        Ok(()) => assert_eq!(together.to_string().parse().ok().as_ref(), Some(&together)),
        Err(_) => assert!(
            together.to_string().parse::<Selector>().is_err(),
            "{together}"
        ),
    }
    // A field name is written unchanged, so only valid names can be read back.
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '.');
    if is_name(text) && labels.keys().all(|key| is_name(key)) {
        assert_eq!(fields.to_string().parse().ok().as_ref(), Some(&fields));
    }
}
