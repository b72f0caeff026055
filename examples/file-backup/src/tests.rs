use pilothouse::testing::Offline;

use super::*;

/// A file of three million bytes, its backup, and the folders.
struct Story {
    offline: Offline<FileBackupReconciler>,
    from: tempfile::TempDir,
    to: tempfile::TempDir,
}

impl Story {
    fn begin() -> Self {
        let [from, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        fs::write(from.path().join("data"), vec![7; 3_000_000]).unwrap();
        let offline = Offline::new(FileBackupReconciler {
            from: from.path().into(),
            to: to.path().into(),
        });
        offline.seed(FileBackup {
            metadata: ObjectMeta {
                name: Some("data".into()),
                ..Default::default()
            },
            spec: FileBackupSpec {
                file: "data".into(),
            },
            status: None,
        });
        Self { offline, from, to }
    }

    fn status(&self) -> FileBackupStatus {
        self.offline
            .get::<FileBackup>("data")
            .unwrap()
            .status
            .unwrap()
    }

    /// The names of the files in the folder for backups.
    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(&self.to).unwrap();
        files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

#[tokio::test]
async fn a_file_is_copied_once_and_the_status_shows_it() {
    let story = Story::begin();
    let _ = story.offline.reconcile("data").await.unwrap();
    let status = story.status();
    assert_eq!(
        (status.copied_bytes, status.observed_generation),
        (3_000_000, Some(1))
    );
    assert!(status.completed.is_some());
    assert_eq!(story.files(), ["data"]);
    let read = |folder: &tempfile::TempDir| fs::read(folder.path().join("data")).unwrap();
    assert!(read(&story.from) == read(&story.to));

    // The status was written at the begin of the copy, too.
    let first = &story.offline.writes()[0];
    assert_eq!(first.subresource.as_deref(), Some("status"));
    assert!(first.body["status"].get("completed").is_none());

    story.offline.forget_writes();
    let _ = story.offline.reconcile("data").await.unwrap();
    assert_eq!(story.offline.writes(), []);
}

#[tokio::test]
async fn a_missing_file_is_a_failure_and_leaves_no_copy() {
    let story = Story::begin();
    fs::remove_file(story.from.path().join("data")).unwrap();
    let failure = story.offline.reconcile("data").await.unwrap_err();
    assert!(failure.to_string().contains("No such file"), "{failure}");
    assert!(story.files().is_empty());
}

#[test]
fn a_cancelled_copy_leaves_nothing_under_the_name_of_the_file() {
    let story = Story::begin();
    let [from, to] = [&story.from, &story.to].map(|folder| folder.path().join("data"));
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let ended = copy(&from, &to, &AtomicI64::new(0), &cancelled);
    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::Interrupted);
    assert_eq!(story.files(), ["data.unfinished"]);
}
