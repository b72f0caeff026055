//! `#[derive(Schema)]`.
//!
//! It writes a hidden copy of the type, for schemars' own derive, with Kubernetes' extensions as attributes.
//!
//! | file | holds |
//! | --- | --- |
//! | `attributes.rs` | reads `#[schema(..)]` on a field and on a type |
//! | `kind.rs` | reads `#[schema(..)]` on a kind, for `#[derive(Resource)]` |
//! | `column.rs`, `rule.rs`, `number.rs`, `values.rs` | values of these attributes: printer columns, CEL rules, numbers, and what holds for each value of a list or a map |
//! | `serde.rs` | reads serde's attributes |
//! | `check.rs` | compares the attributes of a field with its Rust type |
//! | `parameters.rs` | type parameters of the type and of its copy |
//! | `variants.rs` | checks enums |
//! | `map_key.rs` | which types can be keys of maps |
//! | `expand.rs` | writes the code |

mod attributes;
mod check;
mod column;
mod expand;
mod kind;
mod map_key;
mod number;
mod parameters;
mod rule;
mod serde;
mod values;
mod variants;

pub(crate) use expand::expand;
pub(crate) use kind::KindAttributes;
