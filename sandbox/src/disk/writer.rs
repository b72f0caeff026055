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
        if progress.borrow().failed.is_some() {
            continue;
        }
        let written = tables.write(&batch);
        progress.send_modify(|progress| match written {
            Ok(()) => progress.written += batch.len() as u64,
            Err(error) => {
                tracing::error!(%error, "the sandbox cannot write its data; it refuses writes from now on");
                progress.failed = Some(error.to_string().into());
            }
        });
    }
}
