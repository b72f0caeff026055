//! A dictionary that makes the objects of one kind small.
//!
//! Objects of a kind repeat each other: field names, labels, images. A dictionary holds what many of them contain, so that the compressed form of each refers
//! to it. Without the feature `zstd` there are none (`none.rs`).
//!
//! | file | holds |
//! | --- | --- |
//! | `zstd.rs` | trains a [`Dictionary`] from samples, compresses and decompresses with it |
//! | `samples.rs` | the objects from which a dictionary is trained |

#[cfg(not(feature = "zstd"))]
mod none;
mod samples;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(not(feature = "zstd"))]
pub(crate) use none::Dictionary;
pub(crate) use samples::Samples;
#[cfg(feature = "zstd")]
pub(crate) use zstd::Dictionary;
