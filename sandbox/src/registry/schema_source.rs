use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::schema::Schema;

/// The schema of a kind, read when it is first asked for.
///
/// Inflating every built-in schema would cost each short-lived sandbox more than it ever uses.
#[derive(Clone)]
pub struct SchemaSource(Arc<Lazy>);

struct Lazy {
    read: Box<dyn Fn() -> Value + Send + Sync>,
    json: OnceLock<Arc<Value>>,
    schema: Option<Schema>,
}

impl SchemaSource {
    /// A trusted schema whose JSON form (OpenAPI v3, without `$ref`) `read` gives.
    pub fn new(read: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self(Arc::new(Lazy {
            read: Box::new(read),
            json: OnceLock::new(),
            schema: None,
        }))
    }

    /// A schema that is already read.
    pub fn ready(schema: Schema) -> Self {
        let json = Arc::new(schema.to_json());
        Self(Arc::new(Lazy {
            read: Box::new(|| Value::Null),
            json: OnceLock::from(json),
            schema: Some(schema),
        }))
    }

    /// The JSON form.
    pub fn json(&self) -> Arc<Value> {
        self.0
            .json
            .get_or_init(|| Arc::new((self.0.read)()))
            .clone()
    }

    /// The schema itself, unless it is a built-in kind's, which `builtin` keeps.
    pub(super) fn ready_schema(&self) -> Option<Schema> {
        self.0.schema.clone()
    }
}

impl fmt::Debug for SchemaSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SchemaSource")
    }
}
