//! A hash table with cheap snapshots. It holds the objects of one namespace.
//!
//! The rows are spread over small buckets by the hash of their keys (linear hashing). A snapshot shares the buckets, so the
//! writer never changes one that a snapshot has. It changes the *back buffer* of the bucket, which is the version before, and the two change
//! places (double buffering). At the publication the version before gets the same changes, because only readers can have it then. If a
//! reader has it, the writer copies the bucket at the next change. So a change usually costs two changes of a hash table, and
//! copies no rows.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `table.rs` | [`Table`]: the rows by their keys |
//! | `buckets.rs` | [`Buckets`]: the buckets of a table, which share memory with those of a snapshot |
//! | `bucket.rs` | [`Bucket`]: a small hash table |
//! | `back_buffers.rs` | [`BackBuffers`]: the other versions of the buckets, which belong to the writer |

mod back_buffers;
mod bucket;
mod buckets;
mod table;

use bucket::{Bucket, Change, Row};
use buckets::Buckets;

pub(super) use back_buffers::BackBuffers;
pub(super) use table::Table;
