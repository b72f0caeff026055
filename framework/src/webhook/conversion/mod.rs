//! `/convert`: converts objects between the versions of the kinds that an operator defines.
//!
//! It needs neither caches nor leadership. So an API server can read objects that are stored in another version while a replica
//! starts, and before the caches of any replica have synced.
//!
//! | file | holds |
//! | --- | --- |
//! | `review.rs` | `ConversionReview` as JSON: what the API server asks, and the answer |
//! | `service.rs` | the HTTP service, with its limits |
//! | `client_config.rs` | where definitions send the API server, and how that is written into the cluster |
//! | `in_process.rs` | the conversions of a sandbox in the same process, without a socket |

mod client_config;
#[cfg(feature = "dev")]
mod in_process;
#[cfg(test)]
mod limits_test;
mod review;
mod service;
#[cfg(test)]
mod tests;

pub(crate) use client_config::set_target;
pub(super) use client_config::{access, install, published};
#[cfg(feature = "dev")]
pub(crate) use in_process::serve_in;
pub(super) use service::ConversionService;

/// The path of all conversions.
pub(crate) const PATH: &str = "/convert";
