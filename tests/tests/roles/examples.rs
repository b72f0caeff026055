//! The examples, and a story for each that uses all that it does.

use std::sync::Arc;

use bucket::{Bucket, BucketSpec, FolderCloud};
use configmap_sync::{ASKS_FOR, SharedConfig, SharedConfigSpec};
use file_backup::{FileBackup, FileBackupSpec};
use futures_util::future::BoxFuture;
use pilothouse::{
    client::{Patch, PatchParams},
    election::ElectionSettings,
    k8s::api::{batch::v1::Job, core::v1::Namespace},
    prelude::*,
    testing::{Answer, Cluster, RequestMatcher},
};
use scheduled_task::{ScheduledTask, ScheduledTaskSpec};
use serde_json::json;
use website::{Website, WebsiteReconciler, WebsiteSpec};

#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../../../examples/website/src/main.rs"]
mod website;

type Ended = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// An example.
pub(super) struct Example {
    /// The name of the operator.
    pub(super) name: &'static str,
    operator: fn() -> Operator,
    /// What happens to its objects. An error says what did not happen.
    pub(super) story: fn(Cluster) -> BoxFuture<'static, Result<(), String>>,
}

impl Example {
    /// The operator. As in a cluster, it elects a leader.
    pub(super) fn operator(&self) -> Operator {
        (self.operator)().election(ElectionSettings::new(self.name))
    }
}

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        name: "website",
        operator: || Operator::new("website").controller(WebsiteReconciler),
        story: |cluster| told(website(cluster)),
    },
    Example {
        name: "configmap-sync",
        operator: || configmap_sync::operator(),
        story: |cluster| told(configmap_sync(cluster)),
    },
    Example {
        name: "scheduled-task",
        operator: || scheduled_task::operator(),
        story: |cluster| told(scheduled_task(cluster)),
    },
    Example {
        name: "bucket",
        operator: || {
            let folder = tempfile::tempdir().unwrap().keep();
            bucket::operator(Arc::new(FolderCloud::open(folder).unwrap()))
        },
        story: |cluster| told(bucket(cluster)),
    },
    Example {
        name: "file-backup",
        operator: || {
            let folder = tempfile::tempdir().unwrap().keep();
            std::fs::write(folder.join("report"), "text").unwrap();
            file_backup::operator(&folder, folder.join("copies"))
        },
        story: |cluster| told(file_backup(cluster)),
    },
];

fn told(
    story: impl Future<Output = Ended> + Send + 'static,
) -> BoxFuture<'static, Result<(), String>> {
    Box::pin(async { story.await.map_err(|error| error.to_string()) })
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        ..ObjectMeta::default()
    }
}

/// Lets the next writes of a resource fail, until the failure is shown on an object.
async fn fail(cluster: &Cluster, resource: &str, times: usize) {
    let writes = RequestMatcher::any().verb("patch").resource(resource);
    let refusal = Answer::status(422, "Invalid");
    cluster.faults().answer(writes, refusal, times);
}

async fn website(cluster: Cluster) -> Ended {
    let site = Website {
        metadata: named("hello"),
        spec: WebsiteSpec {
            replicas: 1,
            html: "Hello".into(),
        },
        status: None,
    };
    fail(&cluster, "configmaps", 3).await;
    cluster.create(&site).await?;
    let serves = |site: &Website| {
        site.status
            .as_ref()
            .is_some_and(|status| status.ready_replicas == 1)
    };
    cluster.until("hello", "serve", serves).await?;
    let changed = json!({"spec": {"html": "Changed"}});
    cluster.patch::<Website>("hello", changed).await?;
    let is_changed = |page: &ConfigMap| {
        let data = page.data.as_ref();
        data.is_some_and(|data| data["index.html"] == "Changed")
    };
    cluster.until("hello", "change", is_changed).await?;
    cluster.delete::<Website>("hello").await?;
    cluster.until_gone::<ConfigMap>("hello").await?;
    Ok(())
}

async fn configmap_sync(cluster: Cluster) -> Ended {
    let shop = cluster.in_namespace("shop");
    cluster.create(&Namespace::named("shop")).await?;
    let source = SharedConfig {
        metadata: named("settings"),
        spec: SharedConfigSpec {
            data: [("colour".into(), "blue".into())].into(),
        },
        status: None,
    };
    fail(&cluster, "configmaps", 3).await;
    cluster.create(&source).await?;
    let asks = async |value: Option<&str>| {
        let change = json!({"metadata": {"annotations": {ASKS_FOR: value}}});
        cluster.patch::<Namespace>("shop", change).await
    };
    asks(Some("default/settings")).await?;
    shop.until::<ConfigMap>("settings", "exist", |_| true)
        .await?;
    asks(None).await?;
    shop.until_gone::<ConfigMap>("settings").await?;
    asks(Some("default/settings")).await?;
    shop.until::<ConfigMap>("settings", "exist again", |_| true)
        .await?;
    cluster.delete::<SharedConfig>("settings").await?;
    cluster.until_gone::<SharedConfig>("settings").await?;
    Ok(())
}

async fn scheduled_task(cluster: Cluster) -> Ended {
    let task = ScheduledTask {
        metadata: named("greet"),
        spec: ScheduledTaskSpec {
            every_seconds: 60,
            image: "busybox".into(),
            command: Vec::new(),
            history: 1,
        },
        status: None,
    };
    let end = async |run: u32| -> Ended {
        let job = format!("greet-{run}");
        cluster.until::<Job>(&job, "exist", |_| true).await?;
        let ended = json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}});
        let api = cluster.api::<Job>();
        api.patch_status(&job, &PatchParams::default(), &Patch::Merge(ended))
            .await?;
        Ok(())
    };
    fail(&cluster, "jobs", 3).await;
    cluster.create(&task).await?;
    end(0).await?;
    end(1).await?;
    cluster.until_gone::<Job>("greet-0").await?;
    cluster.delete::<ScheduledTask>("greet").await?;
    cluster.until_gone::<ScheduledTask>("greet").await?;
    Ok(())
}

async fn bucket(cluster: Cluster) -> Ended {
    let photos = Bucket {
        metadata: named("photos"),
        spec: BucketSpec { quota: 5 },
        status: None,
    };
    fail(&cluster, "buckets", 3).await;
    cluster.create(&photos).await?;
    let is_there = |bucket: &Bucket| {
        bucket
            .status
            .as_ref()
            .is_some_and(|status| status.id.is_some())
    };
    cluster.until("photos", "have a bucket", is_there).await?;
    cluster.delete::<Bucket>("photos").await?;
    cluster.until_gone::<Bucket>("photos").await?;
    Ok(())
}

async fn file_backup(cluster: Cluster) -> Ended {
    let backup = |file: &str| FileBackup {
        metadata: named(file),
        spec: FileBackupSpec { file: file.into() },
        status: None,
    };
    cluster.create(&backup("missing")).await?;
    cluster.create(&backup("report")).await?;
    // The clock of tokio does not wait for the thread that copies, except while another thread blocks.
    for _ in 0..100 {
        let found = cluster.get::<FileBackup>("report").await?;
        let status = found.and_then(|backup| backup.status);
        if status.is_some_and(|status| status.completed.is_some()) {
            return Ok(());
        }
        tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(5))).await?;
        cluster.settle().await;
    }
    Err("the file was not copied".into())
}
