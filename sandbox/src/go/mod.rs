//! What Go does with JSON, as far as a client sees it in the answers of a real API server.
//!
//! Error messages of kube-apiserver contain Go type names, Go's `%v` and `%#v` output and the texts of Go's decoders. kubectl
//! and tests compare them, so the sandbox writes the same texts.
//!
//! | file | what it does |
//! | --- | --- |
//! | `printed.rs` | prints a value as `%v` and `%#v` print it, and names its Go type |
//! | `types.rs` | the struct fields of the built-in kinds, from `builtin/data/types.json.gz` |
//! | `mistyped.rs` | finds the first value that its Go type cannot hold, with the decoder's error text |
//! | `base64.rs` | reads base64 as Go does |
//! | `time.rs` | parses `metav1.Time` and `metav1.MicroTime`, with the errors of Go's `time` package |
//! | `duration.rs` | parses durations, with the errors of Go's `time` package |
//! | `quantity.rs` | the canonical form, the order and the sums of quantities |

mod base64;
mod duration;
mod mistyped;
mod printed;
mod quantity;
mod time;
pub(crate) mod types;

pub(crate) use base64::base64_bytes;
pub(crate) use duration::duration;
pub(crate) use mistyped::{Mistyped, QUANTITY, metadata_mistyped, mistyped};
pub(crate) use printed::{Printed, Source, dynamic_type, json_kind};
pub use quantity::canonical_quantity;
pub(crate) use quantity::{Quantity, compare_quantities};
