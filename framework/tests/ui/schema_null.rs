use pilothouse::Schema;
use serde::{Deserialize, Serialize};

type Maybe<T> = Option<T>;

#[derive(Schema, Deserialize, Serialize)]
struct Alias {
    twice: Maybe<Maybe<i32>>,
    behind: Option<Box<Maybe<i32>>>,
}

#[derive(Schema, Deserialize, Serialize)]
struct Generic<T> {
    value: Option<T>,
}

#[derive(Schema, Deserialize, Serialize)]
struct Argument {
    once: Generic<i32>,
    twice: Generic<Option<i32>>,
}

fn main() {}
