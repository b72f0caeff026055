//! Finalizers: an object stays until its cleanup has succeeded.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `finalizers.rs` | [`Finalizers`]: adds the declared finalizers before the first reconcile, and removes each after its cleanup, or after a reconcile that makes it needless |

mod finalizers;

pub(crate) use finalizers::{CleanUp, Finalizers, note_called};
