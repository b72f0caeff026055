//! What a sandbox keeps in a folder, so that its objects outlive the process ([`Builder::data`](crate::Builder::data)).
//!
//! The folder has one file, an embedded database of the crate `redb`. The store stays in memory; each of its changes is a [`Record`], which a thread
//! of its own writes in the order of the changes. Many records share one transaction. After a crash the file has the state after one of the
//! transactions. A request that writes is answered only after its records are on the disk ([`Disk::flushed`]), so what a client was told is kept.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `disk.rs` | [`Disk`], which takes the records |
//! | `record.rs` | [`Record`] |
//! | `contents.rs` | [`Contents`]: what the file had at the start |
//! | `tables.rs` | the tables of the file: how a record is written, and how all are read |
//! | `writer.rs` | the thread that writes |

mod contents;
mod disk;
mod record;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod writer;

pub(crate) use contents::{Contents, Identity};
pub(crate) use disk::Disk;
pub(crate) use record::Record;

/// Why a folder cannot be used: a sentence without a period.
type Failure = String;
