//! From the schema that schemars writes to the form that Kubernetes accepts.
//!
//! A *structural* schema has one type at each place and no references, and its value validations never describe
//! structure (Kubernetes documentation, "Specifying a structural schema").
//!
//! | file | holds |
//! | --- | --- |
//! | `node.rs` | [`rewrite`]: rewrites one place of a schema, and all places in it |
//! | `union.rs` | joins the variants of an enum |
//! | `alias.rs` | adds the older names of fields |
//! | `number.rs` | translates Rust's integer formats |
//! | `default.rs` | refuses defaults that the API server would refuse |
//! | `problem.rs` | [`SchemaProblem`], and the keys that several files read |

mod alias;
mod default;
mod node;
mod number;
mod problem;
mod union;

pub(super) use node::rewrite;
use problem::{INT_OR_STRING, PRESERVE, flag};
pub(super) use problem::{REWRITTEN, SchemaProblem};
