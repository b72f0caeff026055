//! The version v1 of Shelf, as it was before v2.

use super::*;

/// A shelf.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "library.example.com",
    version = "v1",
    plural = "shelves",
    namespaced
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

/// The observed state.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ShelfStatus {
    pub books: i64,
    pub conditions: Vec<Condition>,
}

fn metre() -> i32 {
    100
}

impl Default for Limits {
    fn default() -> Self {
        Self { most: 20 }
    }
}

impl From<Shelf> for super::Shelf {
    fn from(from: Shelf) -> Self {
        Self {
            metadata: from.metadata,
            spec: from.spec.into(),
            status: from.status.map(Into::into),
        }
    }
}

impl From<super::Shelf> for Shelf {
    fn from(from: super::Shelf) -> Self {
        Self {
            metadata: from.metadata,
            spec: from.spec.into(),
            status: from.status.map(Into::into),
        }
    }
}

impl From<ShelfSpec> for super::ShelfSpec {
    fn from(from: ShelfSpec) -> Self {
        Self {
            length: from.length,
            books: from.books.into_iter().map(Into::into).collect(),
            by_topic: from.by_topic.map(|one| {
                one.into_iter()
                    .map(|(key, one)| (key, one.into_iter().map(Into::into).collect()))
                    .collect()
            }),
            place: from.place.into(),
            limits: from.limits.into(),
        }
    }
}

impl From<super::ShelfSpec> for ShelfSpec {
    fn from(from: super::ShelfSpec) -> Self {
        Self {
            length: from.length,
            books: from.books.into_iter().map(Into::into).collect(),
            by_topic: from.by_topic.map(|one| {
                one.into_iter()
                    .map(|(key, one)| (key, one.into_iter().map(Into::into).collect()))
                    .collect()
            }),
            place: from.place.into(),
            limits: from.limits.into(),
        }
    }
}

impl From<Book> for super::Book {
    fn from(from: Book) -> Self {
        Self {
            title: from.title,
            lent_to: from.lent_to.map(|one| Box::new((*one).into())),
        }
    }
}

impl From<super::Book> for Book {
    fn from(from: super::Book) -> Self {
        Self {
            title: from.title,
            lent_to: from.lent_to.map(|one| Box::new((*one).into())),
        }
    }
}

impl From<Reader> for super::Reader {
    fn from(from: Reader) -> Self {
        Self { name: from.name }
    }
}

impl From<super::Reader> for Reader {
    fn from(from: super::Reader) -> Self {
        Self { name: from.name }
    }
}

impl From<Place> for super::Place {
    fn from(from: Place) -> Self {
        match from {
            Place::Room { number } => Self::Room { number },
            Place::Lent(value0) => Self::Lent(value0.into()),
            Place::Store {} => Self::Store {},
        }
    }
}

impl From<super::Place> for Place {
    fn from(from: super::Place) -> Self {
        match from {
            super::Place::Room { number } => Self::Room { number },
            super::Place::Lent(value0) => Self::Lent(value0.into()),
            super::Place::Store {} => Self::Store {},
        }
    }
}

impl From<Limits> for super::Limits {
    fn from(from: Limits) -> Self {
        Self { most: from.most }
    }
}

impl From<super::Limits> for Limits {
    fn from(from: super::Limits) -> Self {
        Self { most: from.most }
    }
}

impl From<ShelfStatus> for super::ShelfStatus {
    fn from(from: ShelfStatus) -> Self {
        Self {
            books: from.books,
            conditions: from.conditions,
        }
    }
}

impl From<super::ShelfStatus> for ShelfStatus {
    fn from(from: super::ShelfStatus) -> Self {
        Self {
            books: from.books,
            conditions: from.conditions,
        }
    }
}
