//! `#[derive(Resource)]`.
//!
//! | file | holds |
//! | --- | --- |
//! | `args.rs` | reads and checks the attribute and the fields |
//! | `names.rs` | checks names, and makes the plural |
//! | `pair.rs` | labels and annotations in the attribute |
//! | `served.rs` | reads the other versions of a kind |
//! | `versions.rs` | writes the list of the other versions, and their checks |
//! | `has_status.rs` | writes the type of the field `status` |
//! | `expand.rs` | writes the code for a kind |
//! | `view.rs` | writes the code for a view of a kind |

mod args;
mod expand;
mod has_status;
mod names;
mod pair;
mod served;
mod versions;
mod view;

pub(crate) use expand::expand;
