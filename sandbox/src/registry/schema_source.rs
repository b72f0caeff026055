use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::schema::Schema;

/// The schema of a kind, which is read when it is first used.
///
/// Decompressing every built-in schema would cost a short-lived sandbox more than all its requests.
#[derive(Clone)]
pub struct SchemaSource(Arc<Lazy>);

struct Lazy {
    read_json: Box<dyn Fn() -> Value + Send + Sync>,
    read_schema: Box<dyn Fn() -> Schema + Send + Sync>,
    json: OnceLock<Arc<Value>>,
}

impl SchemaSource {
    /// A trusted schema. `json` returns its JSON form (OpenAPI v3, without `$ref`), and `schema` the schema itself.
    pub fn new(
        json: impl Fn() -> Value + Send + Sync + 'static,
        schema: impl Fn() -> Schema + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Lazy {
            read_json: Box::new(json),
            read_schema: Box::new(schema),
            json: OnceLock::new(),
        }))
    }

    /// A schema that is already read.
    pub fn ready(schema: Schema) -> Self {
        let json = Arc::new(schema.to_json());
        Self(Arc::new(Lazy {
            read_json: Box::new(|| Value::Null),
            read_schema: Box::new(move || schema.clone()),
            json: OnceLock::from(json),
        }))
    }

    /// The JSON form.
    pub fn json(&self) -> Arc<Value> {
        self.0
            .json
            .get_or_init(|| Arc::new((self.0.read_json)()))
            .clone()
    }

    /// The schema itself.
    pub fn schema(&self) -> Schema {
        (self.0.read_schema)()
    }
}

impl fmt::Debug for SchemaSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SchemaSource")
    }
}
