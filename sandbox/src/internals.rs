//! The functions that the tests and the fuzz targets of this repository call directly. They are not part of the
//! interface and may change at any time.

pub mod apply {
    pub use crate::apply::{ApplyOptions, FieldSet, Managers, PathElement, apply, update};
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

pub mod table {
    pub use crate::table::{JsonPath, human_duration};
}
