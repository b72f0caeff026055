use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

/// The schema of a kind, read when it is first asked for.
///
/// Inflating every built-in schema would cost each short-lived sandbox more than it ever uses.
#[derive(Clone)]
pub struct SchemaSource(Arc<Lazy>);

struct Lazy {
    read: Box<dyn Fn() -> Value + Send + Sync>,
    json: OnceLock<Arc<Value>>,
}

impl SchemaSource {
    /// A schema whose JSON form (OpenAPI v3, without `$ref`) `read` gives.
    pub fn new(read: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self(Arc::new(Lazy {
            read: Box::new(read),
            json: OnceLock::new(),
        }))
    }

    /// A schema that is already there.
    pub fn ready(json: Arc<Value>) -> Self {
        let source = Self::new(|| Value::Null);
        // The cell is new and empty.
        let _ = source.0.json.set(json);
        source
    }

    /// The JSON form.
    pub fn json(&self) -> Arc<Value> {
        self.0
            .json
            .get_or_init(|| Arc::new((self.0.read)()))
            .clone()
    }
}

impl fmt::Debug for SchemaSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SchemaSource")
    }
}
