//! Implementations of [`Schema`](super::Schema) for the types of k8s-openapi.
//!
//! | file | holds |
//! | --- | --- |
//! | `described.rs` | types that the framework describes itself |
//! | `every.rs` | all other types |
//! | `published.rs`, `schemas.txt` | the schemas of the types in Kubernetes |
//! | `inlined.rs` | the schema of a type, as a structural schema needs it |
//! | `merging.rs` | how appliers share the lists and maps of these types |

mod described;
mod every;
mod inlined;
mod merging;
#[cfg(not(feature = "k8s-descriptions"))]
mod published;
#[cfg(test)]
mod tests;
