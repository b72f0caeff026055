//! Copies files into a folder for backups. A copy may take hours, and it blocks its thread.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    pin::pin,
    sync::atomic::{AtomicI64, Ordering},
};

use pilothouse::{
    controller::CancellationToken, k8s::apimachinery::pkg::apis::meta::v1::Time, prelude::*,
};

/// A file of which a copy is kept.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
pub struct FileBackup {
    pub metadata: ObjectMeta,
    pub spec: FileBackupSpec,
    pub status: Option<FileBackupStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileBackupSpec {
    /// The name of the file in the folder of the operator.
    #[schema(pattern = "^[a-z0-9][a-z0-9.-]*$", column = "File")]
    pub file: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileBackupStatus {
    /// How many bytes have been copied.
    #[schema(column = "Copied")]
    pub copied_bytes: i64,
    /// When the copy was complete.
    #[schema(column = "Completed")]
    pub completed: Option<Time>,
    /// The generation of the object that this status is about.
    pub observed_generation: Option<i64>,
}

/// Copies from one folder into another one.
pub struct FileBackupReconciler {
    pub from: PathBuf,
    pub to: PathBuf,
}

// ANCHOR: reconciler
impl Reconciler for FileBackupReconciler {
    type Resource = FileBackup;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .timeout(Duration::from_secs(4 * 3600))
            .cancel_on_new_generation()
    }

    async fn reconcile(&self, backup: Arc<FileBackup>, cx: &Context<FileBackup>) -> Result<Action> {
        let generation = backup.metadata.generation;
        let done = backup.status.as_ref();
        if done
            .is_some_and(|done| done.completed.is_some() && done.observed_generation == generation)
        {
            return Ok(Action::wait());
        }
        let file = &backup.spec.file;
        let (from, to) = (self.from.join(file), self.to.join(file));
        // Two objects may name one file.
        let extension = format!("{}.unfinished", backup.uid().unwrap_or_default());
        let unfinished = to.with_added_extension(extension);
        let copied = Arc::new(AtomicI64::new(0));
        let status = |completed| FileBackupStatus {
            copied_bytes: copied.load(Ordering::Relaxed),
            completed,
            observed_generation: generation,
        };
        let (counter, cancelled) = (copied.clone(), cx.cancellation().clone());
        let mut copying = pin!(cx.blocking(move || {
            copy(&from, &unfinished, &counter, &cancelled)?;
            fs::rename(unfinished, to)
        }));
        let mut ticks = tokio::time::interval(Duration::from_secs(5));
        loop {
            tokio::select! {
                ended = &mut copying => break ended?,
                // The closure goes on while this waits.
                _ = ticks.tick() => cx.update_status(status(None)).await?,
            }
        }
        cx.update_status(status(Some(Time(cx.now())))).await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: reconciler

// ANCHOR: copy
/// Copies a file, unless it is cancelled before the end.
fn copy(
    from: &Path,
    to: &Path,
    copied: &AtomicI64,
    cancelled: &CancellationToken,
) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let (mut from, mut into) = (File::open(from)?, File::create(to)?);
    let mut part = vec![0; 1 << 20];
    loop {
        if cancelled.is_cancelled() {
            return Err(io::Error::new(
                io::ErrorKind::Interrupted,
                "the copy was cancelled",
            ));
        }
        let length = from.read(&mut part)?;
        if length == 0 {
            break;
        }
        into.write_all(&part[..length])?;
        copied.fetch_add(i64::try_from(length).unwrap_or(0), Ordering::Relaxed);
    }
    into.sync_all()
}
// ANCHOR_END: copy

/// The operator, for `main` and for the tests.
pub fn operator(from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Operator {
    Operator::new("file-backup").controller(FileBackupReconciler {
        from: from.into(),
        to: to.into(),
    })
}

#[cfg(all(test, feature = "dev"))]
mod tests;
