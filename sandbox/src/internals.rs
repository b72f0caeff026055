//! The functions that the tests and the fuzz targets of this repository call directly. They are not part of the
//! interface and may change at any time.

pub mod apply {
    pub use crate::apply::{
        ApplyOptions, FieldSet, Managers, OtherVersion, PathElement, apply, update,
    };
}

pub mod body {
    use bytes::Bytes;
    use serde_json::Value;

    use crate::server::{body, cbor};

    /// Decodes the body of a request in JSON, YAML or CBOR.
    ///
    /// # Errors
    /// The message that the client gets.
    pub fn decode(media_type: &str, body: &Bytes) -> Result<Value, String> {
        let translated = cbor::request(media_type, body).map_err(|error| error.to_string())?;
        let (media_type, body) = translated.unwrap_or((media_type, body.clone()));
        body::decode(media_type, &body).map_err(|error| error.to_string())
    }

    /// Writes a JSON document as CBOR.
    pub fn to_cbor(json: &[u8]) -> Bytes {
        cbor::encode_all(json)
    }
}

pub mod builtin {
    pub use crate::builtin::{canonical_quantity, kinds, schema, schema_json};
}

pub mod patch {
    pub use crate::patch::{json_patch, merge_patch, strategic_merge_patch};
}

pub mod protobuf {
    pub use crate::protobuf::{Undecodable, decode, encode};
}

pub mod schema {
    pub use crate::schema::Schema;
}

pub mod selector {
    use serde_json::Value;

    use crate::store::selector::{FieldSelector, LabelSelector};

    /// Whether the label selector selects the object.
    ///
    /// # Errors
    /// The message that the client gets if the selector is malformed.
    pub fn selects(labels: &str, object: &Value) -> Result<bool, String> {
        Ok(LabelSelector::parse(labels)?.matches(object))
    }

    /// Whether the text is a field selector, of whichever fields.
    pub fn is_of_fields(text: &str) -> bool {
        FieldSelector::is_well_formed(text)
    }
}

pub mod table {
    pub use crate::table::{JsonPath, human_duration};
}
