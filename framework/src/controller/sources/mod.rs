//! What leads to reconciles: one file per kind of source.

mod own;
mod owned;
mod passes;
mod read;
mod watched;
mod wiring;

pub(super) use own::Own;
pub(super) use owned::Owned;
pub(super) use read::Read;
pub(super) use watched::Watched;
pub(super) use wiring::{Connection, Wiring, informer};
