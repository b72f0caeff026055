use pilothouse::Schema;
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
struct Tree {
    children: Vec<Tree>,
}

fn main() {}
