use pilothouse::Schema;
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
enum Mixed {
    Off,
    On { level: i32 },
}

#[derive(Schema, Deserialize, Serialize)]
enum Several {
    Pair(i32, i32),
}

#[derive(Schema, Deserialize, Serialize)]
#[serde(tag = "type")]
enum Scalar {
    Text(String),
}

#[derive(Schema, Deserialize, Serialize)]
#[serde(tag = "type")]
enum Conflict {
    One { value: i32 },
    Two { value: String },
}

#[derive(Schema, Deserialize, Serialize)]
#[serde(tag = "type", content = "value")]
enum Adjacent {
    Number(i32),
    List(Vec<i32>),
}

#[derive(Schema, Deserialize, Serialize)]
#[serde(untagged)]
enum Untagged {
    Object { value: i32 },
    Text(String),
    None,
}

#[derive(Schema, Deserialize, Serialize)]
enum Empty {}

fn main() {}
