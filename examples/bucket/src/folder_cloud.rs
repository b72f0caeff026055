use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use pilothouse::resource::ObjectKey;
use tokio::fs;

use crate::{Cloud, CloudBucket};

/// A store in a folder, to try the operator: each bucket is a file with its settings. Change or delete such a file, and the
/// operator notices it.
#[derive(Debug)]
pub struct FolderCloud {
    folder: PathBuf,
    created: AtomicU64,
}

impl FolderCloud {
    /// # Errors
    /// If the folder cannot be created.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder)?;
        Ok(Self {
            folder,
            created: AtomicU64::new(0),
        })
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    async fn write(&self, bucket: &CloudBucket) -> io::Result<()> {
        let (file, text) = (self.file(&bucket.id), serde_json::to_vec_pretty(bucket)?);
        let unfinished = file.with_extension("unfinished");
        fs::write(&unfinished, text).await?;
        fs::rename(unfinished, file).await
    }

    fn new_id(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = now.map_or(0, |now| now.as_nanos());
        let number = self.created.fetch_add(1, Ordering::Relaxed);
        format!("bucket-{nanos:x}-{number}")
    }
}

async fn read(file: &Path) -> io::Result<CloudBucket> {
    Ok(serde_json::from_slice(&fs::read(file).await?)?)
}

impl Cloud for FolderCloud {
    async fn create(&self, token: &str, owner: &ObjectKey, quota: u32) -> io::Result<CloudBucket> {
        let bucket = CloudBucket {
            id: self.new_id(),
            token: token.to_owned(),
            owner: owner.clone(),
            quota,
        };
        self.write(&bucket).await?;
        Ok(bucket)
    }

    async fn find(&self, token: &str) -> io::Result<Option<CloudBucket>> {
        let buckets = self.list().await?;
        Ok(buckets.into_iter().find(|bucket| bucket.token == token))
    }

    async fn list(&self) -> io::Result<Vec<CloudBucket>> {
        let (mut files, mut buckets) = (fs::read_dir(&self.folder).await?, Vec::new());
        while let Some(file) = files.next_entry().await? {
            let path = file.path();
            if path.extension().is_none_or(|end| end != "json") {
                continue;
            }
            match read(&path).await {
                // Somebody has just deleted it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                bucket => buckets.push(bucket?),
            }
        }
        Ok(buckets)
    }

    async fn set_quota(&self, id: &str, quota: u32) -> io::Result<()> {
        let bucket = read(&self.file(id)).await?;
        self.write(&CloudBucket { quota, ..bucket }).await
    }

    async fn delete(&self, id: &str) -> io::Result<()> {
        match fs::remove_file(self.file(id)).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            ended => ended,
        }
    }
}
