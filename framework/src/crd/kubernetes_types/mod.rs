//! Implementations of [`Schema`](super::Schema) for the types of k8s-openapi.
//!
//! | file | holds |
//! | --- | --- |
//! | `described.rs` | types that the framework describes itself |
//! | `every.rs` | all other types |
//! | `inlined.rs` | k8s-openapi's description of a type, as a structural schema needs it |
//! | `merging.rs` | how appliers share the lists and maps of these types |

mod described;
mod every;
#[cfg(feature = "k8s-schemas")]
mod inlined;
#[cfg(any(feature = "k8s-schemas", test))]
mod merging;
#[cfg(test)]
mod tests;
