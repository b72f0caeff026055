//! What an API server serves, and which kind a name means.
//!
//! * [`Client::discover`](super::Client::discover) reads everything at once into a [`Discovery`]: groups, their
//!   versions in the server's order of preference, and their kinds with verbs, short names, categories and
//!   subresources. Servers that aggregate discovery answer in two requests. For other servers, the call reads the
//!   document of each group version.
//! * [`RestMapper`] maps a name from a person or a manifest (`deploy`, `deployments.apps`, `Deployment` in `apps/v1`)
//!   to a kind. It remembers what it read, and reads again if it does not know a name. So it finds a kind that was
//!   installed later.
//!
//! A group whose own server is down never hides the others. Its versions have a [`Problem`] that names the failed
//! request, and [`Discovery::failures`] lists them.
//!
//! If a definition is removed, or replaced by one with another scope, the mapper notices when it reads the group again:
//! at the latest [ten minutes](RestMapper#how-old-an-answer-can-be) later, and within seconds if
//! [`RestMapper::follow_definitions`] runs.
//!
//! A program that runs for a moment only keeps what a server serves in a file: [`RestMapper::cached`].
//!
//! [`Client::open_api`](super::Client::open_api) reads the schemas of the kinds.
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
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `discovery.rs`, `served_kind.rs` | the served groups and versions; a served kind and its subresources |
//! | `failure.rs` | what could not be read |
//! | `fetch.rs`, `documents.rs` | requests the documents and decodes them |
//! | `rest_mapper.rs`, `mapping_error.rs` | [`RestMapper`] |
//! | `query.rs`, `resolve.rs` | parses a name, and finds its kind |
//! | `disk_cache.rs` | [`DiscoveryCache`]: what mappers keep in files |
//! | `memory.rs`, `follow.rs` | what a mapper knows, and when it reads again |
//! | `open_api.rs`, `server_version.rs` | schemas, and the server's release |

mod discovery;
mod disk_cache;
mod documents;
mod failure;
mod fetch;
mod follow;
mod kind_query;
mod mapping_error;
mod memory;
mod open_api;
mod resolve;
mod rest_mapper;
mod served_kind;
mod server_version;

pub use discovery::{ApiGroup, ApiVersion, Discovery};
pub use disk_cache::DiscoveryCache;
pub use failure::{DiscoveryFailure, Problem};
pub use mapping_error::MappingError;
pub use open_api::OpenApi;
pub use rest_mapper::RestMapper;
pub use served_kind::{ServedKind, ServedSubresource};
pub use server_version::ServerVersion;
