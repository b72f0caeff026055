use pilothouse::Schema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

#[derive(Schema, Deserialize, Serialize)]
struct Types {
    pair: (i32, String),
    many: Vec<(u8, u8)>,
    huge: Option<u128>,
    by_number: BTreeMap<u32, String>,
    by_flag: HashMap<bool, String>,
    nothing: (),
    borrowed: &'static str,
}

#[derive(Schema, Deserialize, Serialize)]
struct Unit;

#[derive(Schema, Deserialize, Serialize)]
struct Pair(i32, i32);

fn main() {}
