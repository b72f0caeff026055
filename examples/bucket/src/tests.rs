//! The operator crashes at each point of the life of a bucket.

use std::{future::pending, io, sync::Mutex};

use pilothouse::{
    resource::{ObjectKey, Status},
    testing::{Cluster, Offline},
};
use serde_json::json;
use tokio::{sync::Notify, time::sleep};

use super::*;

/// A store in memory, at whose requests the operator can crash.
#[derive(Default)]
struct FakeCloud {
    state: Arc<Mutex<State>>,
    crashed: Notify,
}

#[derive(Default)]
struct State {
    buckets: Vec<CloudBucket>,
    created: usize,
    /// How many points the operator has passed.
    points: usize,
    /// The point at which it crashes.
    crash_at: Option<usize>,
    /// A creation during which the operator crashes has its effect a minute later.
    late: bool,
    /// Requests for all buckets fail.
    away: bool,
}

impl FakeCloud {
    fn with<T>(&self, read: impl FnOnce(&mut State) -> T) -> T {
        read(&mut self.state.lock().unwrap())
    }

    /// A point at which the process may crash. Returns whether it does.
    fn crashes_here(&self) -> bool {
        let crashes = self.with(|state| {
            state.points += 1;
            state.crash_at == Some(state.points - 1)
        });
        if crashes {
            self.crashed.notify_one();
        }
        crashes
    }

    async fn point(&self) {
        if self.crashes_here() {
            pending::<()>().await;
        }
    }

    fn ids(&self) -> Vec<String> {
        self.with(|state| {
            state
                .buckets
                .iter()
                .map(|bucket| bucket.id.clone())
                .collect()
        })
    }
}

impl State {
    fn create(&mut self, token: String, owner: ObjectKey, quota: u32) -> CloudBucket {
        self.created += 1;
        let bucket = CloudBucket {
            id: format!("bucket-{}", self.created),
            token,
            owner,
            quota,
        };
        self.buckets.push(bucket.clone());
        bucket
    }
}

impl Cloud for FakeCloud {
    async fn create(&self, token: &str, owner: &ObjectKey, quota: u32) -> io::Result<CloudBucket> {
        let (token, owner) = (token.to_owned(), owner.clone());
        if self.crashes_here() {
            if self.with(|state| state.late) {
                let state = self.state.clone();
                tokio::spawn(async move {
                    sleep(Duration::from_secs(60)).await;
                    state.lock().unwrap().create(token, owner, quota);
                });
            }
            pending::<()>().await;
            return Err(io::ErrorKind::Interrupted.into());
        }
        let created = self.with(|state| state.create(token, owner, quota));
        self.point().await;
        Ok(created)
    }

    async fn find(&self, token: &str) -> io::Result<Option<CloudBucket>> {
        let is_it = |bucket: &&CloudBucket| bucket.token == token;
        let found = self.with(|state| state.buckets.iter().find(is_it).cloned());
        self.point().await;
        Ok(found)
    }

    async fn list(&self) -> io::Result<Vec<CloudBucket>> {
        match self.with(|state| state.away) {
            true => Err(io::ErrorKind::NotConnected.into()),
            false => Ok(self.with(|state| state.buckets.clone())),
        }
    }

    async fn set_quota(&self, id: &str, quota: u32) -> io::Result<()> {
        self.point().await;
        self.with(|state| {
            let buckets = state.buckets.iter_mut().filter(|bucket| bucket.id == id);
            buckets.for_each(|bucket| bucket.quota = quota);
        });
        self.point().await;
        Ok(())
    }

    async fn delete(&self, id: &str) -> io::Result<()> {
        self.point().await;
        self.with(|state| state.buckets.retain(|bucket| bucket.id != id));
        self.point().await;
        Ok(())
    }
}

fn photos(quota: u32) -> Bucket {
    Bucket {
        metadata: ObjectMeta {
            name: Some("photos".into()),
            ..Default::default()
        },
        spec: BucketSpec { quota },
        status: None,
    }
}

struct Story {
    cloud: Arc<FakeCloud>,
    offline: Offline<BucketReconciler<FakeCloud>>,
}

impl Story {
    fn begin() -> Self {
        let cloud = Arc::new(FakeCloud::default());
        let offline = Offline::new(BucketReconciler {
            cloud: cloud.clone(),
        });
        offline.seed(photos(5));
        Self { cloud, offline }
    }

    fn status(&self) -> Option<BucketStatus> {
        let bucket = self.offline.get::<Bucket>("photos")?;
        Some(bucket.status.unwrap_or_default())
    }

    // ANCHOR: crash
    /// Reconciles again and again until `done`. After a crash, a new process goes on.
    async fn until(&self, done: impl Fn(Option<BucketStatus>) -> bool) {
        for _ in 0..10 {
            let crashed = tokio::select! {
                ended = self.offline.reconcile("photos") => {
                    let _ = ended.unwrap();
                    false
                }
                // The call is dropped where it waits.
                () = self.cloud.crashed.notified() => true,
            };
            match crashed {
                true => self.offline.restart(),
                false if done(self.status()) => return,
                false => sleep(SETTLED.unsigned_abs()).await,
            }
        }
        panic!("it is not done: {:?}", self.status());
    }

    /// Creates, changes and deletes the bucket. Returns whether the process crashed.
    async fn live(&self, crash_at: usize, late: bool) -> bool {
        self.cloud
            .with(|state| (state.crash_at, state.late) = (Some(crash_at), late));
        self.until(|status| status.is_some_and(|status| status.id.is_some()))
            .await;
        sleep(Duration::from_secs(3600)).await;
        assert_eq!(self.cloud.ids(), ["bucket-1"], "crash at point {crash_at}");
        assert_eq!(self.status().unwrap().id.as_deref(), Some("bucket-1"));
        assert_eq!(self.status().unwrap().creating, None);

        self.offline.seed(Bucket {
            spec: BucketSpec { quota: 9 },
            ..self.offline.get("photos").unwrap()
        });
        self.until(|_| self.cloud.with(|state| state.buckets[0].quota) == 9)
            .await;
        assert!(self.offline.delete::<Bucket>("photos"));
        self.until(|status| status.is_none()).await;
        sleep(Duration::from_secs(3600)).await;
        assert_eq!(self.cloud.ids(), [""; 0], "crash at point {crash_at}");
        self.cloud.with(|state| state.points > crash_at)
    }
    // ANCHOR_END: crash
}

// ANCHOR: points
#[tokio::test(start_paused = true)]
async fn a_crash_at_any_point_leads_to_one_bucket_and_none_is_left() {
    for late in [false, true] {
        let mut points = 0;
        while Story::begin().live(points, late).await {
            points += 1;
        }
        assert_eq!(points, 9);
    }
}
// ANCHOR_END: points

#[tokio::test(start_paused = true)]
async fn an_object_that_is_deleted_while_its_bucket_is_being_created_leaves_none() {
    let story = Story::begin();
    // The request to create it is the second point.
    story
        .cloud
        .with(|state| (state.crash_at, state.late) = (Some(1), true));
    let crashed = tokio::select! {
        _ = story.offline.reconcile("photos") => false,
        () = story.cloud.crashed.notified() => true,
    };
    assert!(crashed && story.status().unwrap().creating.is_some());
    story.offline.restart();
    assert!(story.offline.delete::<Bucket>("photos"));
    story.until(|status| status.is_none()).await;
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(
        (story.cloud.ids(), story.cloud.with(|state| state.created)),
        (vec![], 1)
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_before_the_intent_is_recorded() {
    let story = Story::begin();
    let away = Status::from_code(503, "not now");
    story.offline.fail_next::<Bucket>("apply", away);
    assert!(story.offline.reconcile("photos").await.is_err());
    assert_eq!(story.cloud.with(|state| state.created), 0);
    story
        .until(|status| status.is_some_and(|status| status.id.is_some()))
        .await;
    assert_eq!(story.cloud.ids(), ["bucket-1"]);
}

// ANCHOR: polled
#[tokio::test(start_paused = true)]
async fn a_change_outside_of_the_cluster_is_noticed_and_an_outage_is_no_deletion() {
    let cluster = Cluster::start().unwrap();
    let cloud = Arc::new(FakeCloud::default());
    let running = cluster.run(operator(cloud.clone())).await.unwrap();
    cluster.create(&photos(5)).await.unwrap();
    let has = |id: &'static str| {
        move |bucket: &Bucket| {
            let status = bucket.status.as_ref();
            status.is_some_and(|status| status.id.as_deref() == Some(id))
        }
    };
    cluster
        .until("photos", "have a bucket", has("bucket-1"))
        .await
        .unwrap();
    // The polls have seen the bucket.
    sleep(Duration::from_secs(90)).await;

    cloud.with(|state| state.buckets[0].quota = 77);
    sleep(Duration::from_secs(35)).await;
    assert_eq!(cloud.with(|state| state.buckets[0].quota), 5);

    cloud.with(|state| state.away = true);
    sleep(Duration::from_secs(600)).await;
    assert_eq!(
        (cloud.ids(), cloud.with(|state| state.created)),
        (vec!["bucket-1".to_owned()], 1)
    );

    cloud.with(|state| {
        state.away = false;
        state.buckets.clear();
    });
    cluster
        .until("photos", "have another bucket", has("bucket-2"))
        .await
        .unwrap();
    cluster.delete::<Bucket>("photos").await.unwrap();
    cluster.until_gone::<Bucket>("photos").await.unwrap();
    assert_eq!(cloud.ids(), [""; 0]);
    assert_eq!(running.unused_access().to_string(), "");
    running.stop().await;
}
// ANCHOR_END: polled

#[tokio::test]
async fn the_store_in_a_folder_has_what_was_created() {
    let folder = tempfile::tempdir().unwrap();
    let cloud = FolderCloud::open(folder.path()).unwrap();
    let owner = ObjectKey::namespaced("default", "photos");
    let one = cloud.create("token", &owner, 5).await.unwrap();
    let other = cloud.create("other", &owner, 5).await.unwrap();
    assert_ne!(one.id, other.id);
    assert_eq!(cloud.find("token").await.unwrap(), Some(one.clone()));
    cloud.set_quota(&one.id, 9).await.unwrap();
    assert_eq!(cloud.find("token").await.unwrap().unwrap().quota, 9);
    for _ in 0..2 {
        cloud.delete(&other.id).await.unwrap();
    }
    assert_eq!(cloud.list().await.unwrap().len(), 1);
    let text = std::fs::read_to_string(folder.path().join(format!("{}.json", one.id))).unwrap();
    let stored: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(stored["owner"], json!("default/photos"));
}
