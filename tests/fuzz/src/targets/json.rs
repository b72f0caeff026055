//! Checks that the JSON reader and `serde_json` read the same values from the same texts into the same types.

use std::{collections::BTreeMap, fmt::Debug};

use pilothouse::{
    k8s::{
        api::{
            apps::v1::Deployment,
            core::v1::{Event, Pod, Secret},
        },
        apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    },
    resource::{DynamicObject, Status},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    answers::{Answer, client, now},
    input,
};

pub(crate) fn run(data: &[u8]) {
    let (form, text) = input::choice(data);
    match form % 12 {
        0 => same::<Value>(text),
        1 => same::<Forms>(text),
        2 => same::<BTreeMap<String, Untagged>>(text),
        3 => same::<Vec<Option<f64>>>(text),
        4 => same::<BTreeMap<i64, Option<String>>>(text),
        5 => same::<Pod>(text),
        6 => same::<Deployment>(text),
        7 => same::<CustomResourceDefinition>(text),
        8 => same::<DynamicObject>(text),
        9 => same::<Event>(text),
        10 => same::<Secret>(text),
        _ => same::<BTreeMap<Choice, Vec<Choice>>>(text),
    }
}

fn same<T: DeserializeOwned + PartialEq + Debug>(text: &[u8]) {
    let request = client(Answer::json(text)).request("get").path("/");
    let ours = now(request.send()).and_then(|answer| answer.decode::<T>());
    // `serde_json` does not check strings that the type ignores.
    if str::from_utf8(text).is_err() {
        assert!(ours.is_err(), "not UTF-8: {ours:?}");
        return;
    }
    if input::depth(text) > input::DEEPEST {
        return;
    }
    match (ours, serde_json::from_slice::<T>(text)) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
        (Err(_), Err(_)) => {}
        (ours, theirs) => panic!("ours: {ours:?}\ntheirs: {theirs:?}"),
    }
}

/// Every form of data that serde supports.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct Forms {
    text: Option<String>,
    whole: Option<i64>,
    small: Option<u8>,
    wide: Option<i128>,
    float: Option<f32>,
    double: Option<f64>,
    letter: Option<char>,
    nothing: Option<()>,
    pair: Option<(u8, String)>,
    choice: Option<Choice>,
    numbers: Option<BTreeMap<u16, Choice>>,
    inner: Option<Box<Forms>>,
    untagged: Option<Untagged>,
    tagged: Option<Tagged>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    A,
    B(i8),
    C(BTreeMap<String, Option<String>>),
    D(u8, Box<Choice>),
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
    List(Vec<Untagged>),
    Status(Box<Status>),
    Other(Value),
}

// An adjacently tagged enum is missing on purpose: `serde_json` accepts a list for it, and our reader accepts no list
// for a struct.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "type", rename_all = "UPPERCASE")]
enum Tagged {
    Added { object: BTreeMap<String, Value> },
    Error(Box<Status>),
}
