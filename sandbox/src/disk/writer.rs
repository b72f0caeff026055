use std::iter;
use std::sync::mpsc::Receiver;

use tokio::sync::watch;

use super::{Record, disk::Progress, tables::Tables};

/// The most records of one transaction.
const BATCH: usize = 1024;

/// Writes records until their sender is gone. After a failure it writes nothing more: the file keeps the state before it.
pub(super) fn run(tables: &Tables, records: &Receiver<Record>, progress: &watch::Sender<Progress>) {
    while let Ok(first) = records.recv() {
        let batch = iter::once(first).chain(records.try_iter()).take(BATCH);
        let batch: Vec<Record> = batch.collect();
        let count = batch.len() as u64;
        let written = match progress.borrow().failed {
            Some(_) => None,
            None => Some(tables.write(&batch)),
        };
        let Some(written) = written else {
            continue;
        };
        progress.send_modify(|progress| match written {
            Ok(()) => progress.written += count,
            Err(error) => {
                tracing::error!(%error, "the sandbox cannot write its data; it refuses writes from now on");
                progress.failed = Some(error.to_string().into());
            }
        });
    }
}
