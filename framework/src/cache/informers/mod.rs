//! Hands out informers and owns their tasks: client-go's `SharedInformerFactory`.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `informers.rs` | [`Informers`] |
//! | `any_informer.rs` | [`AnyInformer`](any_informer::AnyInformer): a [`SharedInformer`](crate::cache::SharedInformer) of any kind |
//! | `informers_builder.rs` | [`InformersBuilder`]: options of kinds, and how many lists run at the same time |
//! | `informer_guard.rs` | [`InformerGuard`]: keeps an informer running as long as its user needs it |

mod any_informer;
mod informer_guard;
mod informers;
mod informers_builder;

pub use informer_guard::InformerGuard;
pub use informers::Informers;
pub use informers_builder::InformersBuilder;
