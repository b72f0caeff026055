use pilothouse::Schema;
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
struct Typo {
    #[schema(minium = 1)]
    bound: i32,
    #[schema(min_lenght = 1)]
    length: String,
    #[schema(column = 3)]
    column: i32,
}

#[derive(Schema, Deserialize, Serialize)]
#[schema(rules("self.a > 0", "positive"))]
struct OnType {
    a: i32,
}

fn main() {}
