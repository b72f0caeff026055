//! `#[derive(Schema)]`: `field` and `container` read the attributes, `check` compares them with
//! the Rust types, `variants` judges enums, `serde` reads what serde was told, `expand` writes a
//! hidden copy of the type for schemars' own derive, with Kubernetes' extensions beside.

mod check;
mod column;
mod container;
mod expand;
mod field;
mod number;
mod rule;
mod serde;
mod variants;

pub(crate) use expand::expand;
