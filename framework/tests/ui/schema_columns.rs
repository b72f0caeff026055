use pilothouse::Schema;
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
struct Columns {
    #[schema(column = "Names")]
    list: Vec<String>,
    #[schema(column = "Age")]
    age: i32,
    #[schema(column(priority = 1))]
    unnamed: i32,
    #[schema(column(name = "When", type = "time"))]
    when: String,
    #[schema(scale = "spec")]
    replicas: String,
    #[schema(scale = "selector")]
    selector: i32,
    #[serde(flatten)]
    #[schema(column = "Flat")]
    flat: Flat,
    #[serde(skip)]
    #[schema(column = "Skipped")]
    skipped: i32,
}

#[derive(Schema, Deserialize, Serialize)]
struct Flat {
    field: i32,
}

fn main() {}
