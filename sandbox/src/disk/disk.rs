use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::{Contents, Failure, Identity, Record, tables::Tables, writer};

/// Why nothing is written if the thread is gone without a reason.
const ENDED: &str = "the thread that writes has ended";

/// Takes the changes that a thread writes. Dropping it waits until the thread has written them.
pub(crate) struct Disk {
    queue: Mutex<Queue>,
    progress: watch::Receiver<Progress>,
    thread: Option<JoinHandle<()>>,
}

struct Queue {
    /// `None` once the disk is being dropped.
    records: Option<SyncSender<Record>>,
    sent: u64,
}

/// How far the thread is.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The records that are on the disk.
    pub(super) written: u64,
    /// Why nothing more is written.
    pub(super) failed: Option<Arc<str>>,
}

/// The most records that wait. The store waits for the thread if there are more.
const WAITING: usize = 4096;

impl Disk {
    /// Opens the folder, which is created if it does not exist. If the folder has an identity, it replaces the given one.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the folder, for example that another sandbox uses it.
    pub(crate) fn open(
        folder: &Path,
        identity: &mut Identity,
    ) -> Result<(Self, Contents), Failure> {
        Self::start(Tables::open(folder).map_err(said)?, identity)
    }

    pub(super) fn start(
        tables: Tables,
        identity: &mut Identity,
    ) -> Result<(Self, Contents), Failure> {
        tables.start(identity).map_err(said)?;
        let contents = tables.read().map_err(said)?;
        let (records, waiting) = sync_channel(WAITING);
        let (sender, progress) = watch::channel(Progress::default());
        let thread = std::thread::Builder::new().name("sandbox-disk".into());
        let thread = thread.spawn(move || writer::run(&tables, &waiting, &sender));
        let thread = thread.map_err(|error| format!("no thread can be started: {error}"))?;
        let disk = Self {
            queue: Mutex::new(Queue {
                records: Some(records),
                sent: 0,
            }),
            progress,
            thread: Some(thread),
        };
        Ok((disk, contents))
    }

    /// Hands a change over. Changes must come in their order.
    pub(crate) fn keep(&self, record: Record) {
        let mut queue = self.queue.lock();
        queue.sent += 1;
        if let Some(records) = &queue.records {
            // If the thread has ended, it has said why.
            let _ = records.send(record);
        }
    }

    /// Why nothing more is written, if that is so.
    pub(crate) fn failed(&self) -> Option<Arc<str>> {
        let failed = self.progress.borrow().failed.clone();
        let has_ended = || self.progress.has_changed().is_err();
        failed.or_else(|| has_ended().then(|| ENDED.into()))
    }

    /// Waits until every change so far is on the disk.
    ///
    /// # Errors
    /// The reason why it cannot be written.
    pub(crate) async fn flushed(&self) -> Result<(), Arc<str>> {
        let sent = self.queue.lock().sent;
        let mut progress = self.progress.clone();
        let reached = |now: &Progress| now.written >= sent || now.failed.is_some();
        match progress.wait_for(reached).await {
            Ok(now) => match &now.failed {
                Some(failed) => Err(failed.clone()),
                None => Ok(()),
            },
            Err(_) => Err(ENDED.into()),
        }
    }
}

fn said(error: redb::Error) -> Failure {
    match error {
        redb::Error::DatabaseAlreadyOpen => "another sandbox uses it".into(),
        error => error.to_string(),
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.queue.get_mut().records = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by the thread.
            let _ = thread.join();
        }
    }
}
