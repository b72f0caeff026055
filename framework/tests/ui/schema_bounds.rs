use pilothouse::Schema;
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
struct Bounds {
    #[schema(minimum = 1)]
    text: String,
    #[schema(max_length = 3)]
    number: i32,
    #[schema(maximum = 300)]
    small: u8,
    #[schema(minimum = 0.5)]
    whole: Option<i64>,
    #[schema(minimum = 5, maximum = 1)]
    reversed: f64,
    #[schema(minimum = 0, exclusive_minimum = 0)]
    both: i32,
    #[schema(min_items = 2, max_items = 1)]
    list: Vec<String>,
    #[schema(pattern = "^a$")]
    flag: bool,
    #[schema(min_items = 1)]
    map: std::collections::BTreeMap<String, String>,
    #[schema(format = "url")]
    format: String,
    #[schema(minimum = "1")]
    quoted: i32,
}

fn main() {}
