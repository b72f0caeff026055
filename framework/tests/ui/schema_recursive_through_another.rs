use pilothouse::Schema;
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
struct Folder {
    entries: Vec<Entry>,
}

#[derive(Schema, Deserialize, Serialize)]
struct Entry {
    folder: Option<Folder>,
}

fn main() {}
