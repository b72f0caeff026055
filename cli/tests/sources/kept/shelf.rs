//! Shelves.

pub mod v1;

use std::collections::BTreeMap;

use pilothouse::prelude::*;

/// A shelf.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "library.example.com",
    version = "v2",
    plural = "shelves",
    namespaced,
    served(v1::Shelf)
)]
pub struct Shelf {
    pub metadata: ObjectMeta,
    pub spec: ShelfSpec,
    pub status: Option<ShelfStatus>,
}

/// The desired state.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShelfSpec {
    /// The length in centimetres.
    #[serde(default = "metre")]
    #[schema(minimum = 10)]
    pub length: i32,
    pub books: Vec<Book>,
    pub by_topic: Option<BTreeMap<String, Vec<Book>>>,
    pub place: Place,
    #[serde(default)]
    pub limits: Limits,
}

fn metre() -> i32 {
    100
}

/// A book on the shelf.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct Book {
    pub title: String,
    // Not all books have one.
    pub lent_to: Option<Box<Reader>>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct Reader {
    pub name: String,
}

/// Where the shelf is.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type")]
pub enum Place {
    Room { number: i32 },
    Lent(Reader),
    Store {},
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct Limits {
    pub most: i32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { most: 20 }
    }
}

/// The observed state.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ShelfStatus {
    pub books: i64,
    pub conditions: Vec<Condition>,
}

pub struct ShelfReconciler;
