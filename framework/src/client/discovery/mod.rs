//! What an API server serves, and what a name means there.
//!
//! * [`Client::discover`](super::Client::discover) reads everything at once into a [`Discovery`]:
//!   groups, their versions in the server's order of preference, and in each the kinds with their
//!   verbs, short names, categories and subresources. Servers that aggregate it answer in two
//!   requests; of those that do not, each group version's own document is read in the same call.
//! * [`RestMapper`] answers what a person or a manifest names (`deploy`, `deployments.apps`,
//!   `Deployment` in `apps/v1`) with the kind that is meant. It remembers what it read, and asks
//!   again when it meets a name it does not know; so a kind that was installed later is found.
//!
//! One group whose own server is down never hides the others: its versions carry the
//! [`Problem`], which names what was tried, and [`Discovery::failures`] lists them.
//!
//! A definition that is removed, or replaced by one with another scope, is noticed when its group is
//! read again: at the latest [ten minutes](RestMapper#how-old-an-answer-can-be) later, and within
//! seconds where [`RestMapper::follow_definitions`] runs.
//!
//! The kinds' schemas are read by [`Client::open_api`](super::Client::open_api).
//!
//! ```no_run
//! use pilothouse::client::{Client, Config, RestMapper};
//! use pilothouse::client::ListParams;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Config::infer().await?)?;
//! println!("Kubernetes {}", client.server_version().await?);
//!
//! let mapper = RestMapper::new(&client);
//! let deployments = mapper.api("deploy", Some("default")).await?;
//! for deployment in &deployments.list(&ListParams::default()).await? {
//!     println!("{:?}", deployment.metadata.name);
//! }
//! # Ok(()) }
//! ```
//!
//! Source: KEP-3352 (aggregated discovery) and client-go's `discovery` and `restmapper`.

mod api_group;
mod api_version;
mod discovery;
mod documents;
mod failure;
mod fetch;
mod follow;
mod mapping_error;
mod memory;
mod open_api;
mod problem;
mod resolve;
mod rest_mapper;
mod served_kind;
mod server_version;
mod subresource;
mod wanted;

pub use api_group::ApiGroup;
pub use api_version::ApiVersion;
pub use discovery::Discovery;
pub use failure::DiscoveryFailure;
pub use mapping_error::MappingError;
pub use open_api::OpenApi;
pub use problem::Problem;
pub use rest_mapper::RestMapper;
pub use served_kind::ServedKind;
pub use server_version::ServerVersion;
pub use subresource::ServedSubresource;
