use pilothouse::Schema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Deserialize, Serialize)]
struct Mine {}

#[derive(Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct Key(String);

#[derive(Schema, Deserialize, Serialize)]
struct Outer {
    mine: Vec<Mine>,
    map: BTreeMap<Key, String>,
}

fn main() {}
