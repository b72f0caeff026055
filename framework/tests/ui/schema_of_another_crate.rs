use pilothouse::Schema;
use serde::{Deserialize, Serialize};

mod url {
    #[derive(serde::Deserialize, serde::Serialize)]
    pub struct Url(String);
}

#[derive(Schema, Deserialize, Serialize)]
struct Spec {
    page: url::Url,
}

fn main() {}
