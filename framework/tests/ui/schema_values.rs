use std::collections::BTreeMap;

use pilothouse::Schema;
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
struct Values {
    #[schema(items(minimum = 1))]
    wrong_bound: Vec<String>,
    #[schema(items(min_length = 1))]
    no_list: String,
    #[schema(additional_properties(max_length = 3))]
    numbers: BTreeMap<String, i32>,
    #[schema(items(items(maximum = 300)))]
    nested: Vec<Vec<u8>>,
    #[schema(items(column = "Name", selectable))]
    columns: Vec<String>,
    #[schema(additional_properties(nullable))]
    nullable: BTreeMap<String, String>,
    #[schema(items(minium = 1))]
    typo: Vec<i32>,
    #[schema(items(with = "String"))]
    with: Vec<String>,
    #[schema(items())]
    nothing: Vec<String>,
}

fn main() {}
