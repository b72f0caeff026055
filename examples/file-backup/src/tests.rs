use pilothouse::testing::{Cluster, Offline};

use super::*;

fn backup() -> FileBackup {
    FileBackup {
        metadata: ObjectMeta {
            name: Some("data".into()),
            ..Default::default()
        },
        spec: FileBackupSpec {
            file: "data".into(),
        },
        status: None,
    }
}

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
        offline.seed(backup());
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
    assert!(fs::read(&to).unwrap().is_empty());
}

/// The file is a pipe, so the test decides how far the copy has come.
#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn the_status_shows_the_progress_of_a_copy_that_takes_long() {
    use std::{process::Command, sync::mpsc, thread};

    let story = Story::begin();
    let pipe = story.from.path().join("data");
    fs::remove_file(&pipe).unwrap();
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let cluster = Cluster::start().unwrap();
    let running = cluster.run(operator(story.from.path(), story.to.path()));
    let running = running.await.unwrap();
    cluster.create(&backup()).await.unwrap();
    let (parts, received) = mpsc::channel::<[u8; 1000]>();
    let writer = thread::spawn(move || {
        let mut pipe = File::create(pipe)?;
        received.iter().try_for_each(|part| pipe.write_all(&part))
    });

    for part in 1..=3 {
        parts.send([7; 1000]).unwrap();
        let mut copied = 0;
        while copied < part * 1000 {
            // The closure needs real time. Meanwhile the test advances the clock.
            thread::sleep(Duration::from_millis(1));
            tokio::time::advance(Duration::from_secs(1)).await;
            let seen: Option<FileBackup> = cluster.get("data").await.unwrap();
            let status = seen.unwrap().status.unwrap_or_default();
            assert!(status.completed.is_none());
            copied = status.copied_bytes;
        }
        assert_eq!(copied, part * 1000);
    }
    drop(parts);
    writer.join().unwrap().unwrap();
    cluster
        .until("data", "be complete", |backup: &FileBackup| {
            let status = backup.status.as_ref();
            status.is_some_and(|status| status.completed.is_some() && status.copied_bytes == 3000)
        })
        .await
        .unwrap();
    assert_eq!(story.files(), ["data"]);
    running.stop().await;
}
