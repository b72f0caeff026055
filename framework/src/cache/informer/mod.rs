//! One cache, its task and its listeners: client-go's `SharedInformer`.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `shared_informer.rs` | [`SharedInformer`]: the handle that users have |
//! | `task.rs` | the loop that the informer's task runs |
//! | `namespace_partitions.rs` | the namespaces that the informer reads, each with a reflector and a queue |
//! | `progress_by_namespace.rs` | the progress of each namespace |
//! | `processor.rs` | turns deltas into changes of the store and into events |
//! | `transform.rs` | the user's function that changes an object before it is stored |
//! | `object_sizes.rs` | the metric for the size of the objects |
//! | `kind_options.rs` | the options of one kind, and of all kinds |

mod kind_options;
mod namespace_partitions;
mod object_sizes;
mod processor;
mod progress_by_namespace;
mod shared_informer;
mod task;
mod transform;

pub(super) use kind_options::{AllKindOptions, KindOptions};
pub(super) use object_sizes::json_size;
#[cfg(test)]
pub(super) use processor::Processor;
pub use shared_informer::SharedInformer;
pub(super) use transform::TransformError;
