//! The objects of one kind, and the verbs on them.
//!
//! | file | holds |
//! | --- | --- |
//! | `api.rs` | [`Api`]: the kind and the namespace of the requests; an answer as the bytes that the server sent |
//! | `get.rs`, `list.rs`, `watch.rs` | the verbs that read |
//! | `write.rs`, `modify.rs` | create, replace, patch and apply; read, change and write |
//! | `delete.rs` | deletes one object or many |
//! | `wait.rs` | waits until an object fulfils a condition |
//! | `subresources/` | `status`, `scale` and the other subresources |
//! | `list_progress.rs` | notices a list that does not end |

mod api;
mod delete;
mod get;
mod list;
mod list_progress;
mod modify;
mod subresources;
mod wait;
mod watch;
mod write;

pub use api::Api;
pub(crate) use api::EncodedObject;
pub(crate) use list_progress::ListProgress;
pub use subresources::Restart;
pub use write::GetOrCreate;
