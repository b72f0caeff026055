//! Buckets of a store outside of the cluster. Each is created exactly once, even if the operator crashes at any point.

mod cloud;
mod folder_cloud;

use pilothouse::{
    controller::Poll,
    k8s::{
        apimachinery::pkg::apis::meta::v1::Time,
        jiff::{SignedDuration, Timestamp},
    },
    prelude::*,
};

pub use cloud::{Cloud, CloudBucket};
pub use folder_cloud::FolderCloud;

// ANCHOR: kind
/// A bucket outside of the cluster.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
pub struct Bucket {
    pub metadata: ObjectMeta,
    pub spec: BucketSpec,
    pub status: Option<BucketStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BucketSpec {
    /// The largest size of all objects in the bucket, in GiB.
    #[schema(minimum = 1, column = "Quota")]
    pub quota: u32,
}

#[derive(Schema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BucketStatus {
    /// When the operator last asked for the creation of the bucket. It is written before the request is sent.
    pub creating: Option<Time>,
    /// The id that the store gave to the bucket.
    #[schema(column = "Id")]
    pub id: Option<String>,
}
// ANCHOR_END: kind

/// Keeps an object until its bucket is deleted.
pub const FINALIZER: &str = "demo.pilothouse.dev/bucket";

/// Creates, changes and deletes buckets with the API of a store.
pub struct BucketReconciler<C> {
    pub cloud: Arc<C>,
}

// ANCHOR: reconciler
impl<C: Cloud> Reconciler for BucketReconciler<C> {
    type Resource = Bucket;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let cloud = self.cloud.clone();
        let buckets = Poll::every(Duration::from_secs(30), move || {
            let cloud = cloud.clone();
            async move {
                let buckets = cloud.list().await?.into_iter();
                Ok(buckets.map(|bucket| (bucket.owner.clone(), bucket)))
            }
        });
        controller
            .finalizer(FINALIZER)
            .polls(buckets.named("the list of buckets"))
    }

    async fn reconcile(&self, bucket: Arc<Bucket>, cx: &Context<Bucket>) -> Result<Action> {
        let (token, quota) = (token(&bucket)?, bucket.spec.quota);
        let status = bucket.status.clone().unwrap_or_default();
        let found = match self.cloud.find(token).await? {
            Some(found) => found,
            None => {
                // The process may have crashed after it had sent the request.
                if let Some(left) = status.may_appear_within(cx.now()) {
                    return Ok(Action::requeue_after(left));
                }
                cx.update_status(BucketStatus {
                    creating: Some(Time(cx.now())),
                    id: None,
                })
                .await?;
                self.cloud.create(token, cx.key(), quota).await?
            }
        };
        cx.update_status(BucketStatus {
            creating: None,
            id: Some(found.id.clone()),
        })
        .await?;
        if found.quota != quota {
            self.cloud.set_quota(&found.id, quota).await?;
        }
        Ok(Action::wait())
    }
}
// ANCHOR_END: reconciler

// ANCHOR: cleanup
impl<C: Cloud> Cleanup for BucketReconciler<C> {
    async fn cleanup(&self, bucket: Arc<Bucket>, cx: &Context<Bucket>) -> Result<Action> {
        // By the token and not by the id, which is not recorded if the process crashed.
        if let Some(found) = self.cloud.find(token(&bucket)?).await? {
            self.cloud.delete(&found.id).await?;
            return Ok(Action::wait());
        }
        let status = bucket.status.clone().unwrap_or_default();
        Ok(match status.may_appear_within(cx.now()) {
            Some(left) => Action::requeue_after(left),
            None => Action::wait(),
        })
    }
}
// ANCHOR_END: cleanup

// ANCHOR: token
/// An earlier request to create a bucket has had its effect by this time, or never will.
pub const SETTLED: SignedDuration = SignedDuration::from_secs(120);

impl BucketStatus {
    /// How long an earlier request to create the bucket may still have an effect. Returns `None` if no request can have an effect any more.
    fn may_appear_within(&self, now: Timestamp) -> Option<Duration> {
        let since = self.creating.as_ref()?.0;
        let left = SETTLED - now.duration_since(since);
        left.is_positive().then(|| left.unsigned_abs())
    }
}

/// The same in each process and in each attempt, and never that of another object: the UID.
fn token(bucket: &Bucket) -> Result<&str> {
    bucket
        .uid()
        .ok_or_else(|| Failure::new("the object has no UID"))
}
// ANCHOR_END: token

/// The operator, for `main` and for the tests.
pub fn operator<C: Cloud>(cloud: Arc<C>) -> Operator {
    Operator::new("bucket").controller(BucketReconciler { cloud })
}

#[cfg(all(test, feature = "dev"))]
mod tests;
