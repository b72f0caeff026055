use pilothouse::Schema;
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
#[schema(rule("self.a > 0"))]
struct OnType {
    a: i32,
}

#[derive(Schema, Deserialize, Serialize)]
struct Rules {
    #[schema(rule("", "must not be empty"))]
    empty: String,
    #[schema(rule("self > 0", "two\nlines"))]
    lines: i32,
    #[schema(rule("self > 0", "positive", reason = "Because"))]
    reason: i32,
    #[schema(rule("self > 0", "positive", field_path = "a"))]
    path: i32,
    #[schema(rule("self > 0", "positive", fieldpath = ".a"))]
    typo: i32,
}

fn main() {}
