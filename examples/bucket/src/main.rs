use std::sync::Arc;

use bucket::{Bucket, BucketReconciler, FINALIZER, FolderCloud};
use pilothouse::{
    k8s::api::core::v1::{EmptyDirVolumeSource, Volume, VolumeMount},
    manifests::Manifests,
    operator::Setup,
    prelude::*,
};

// ANCHOR: main
fn main() -> ExitCode {
    // The folder takes the place of the store. It is opened only by `run` and `dev`.
    Operator::new("bucket")
        .controller_with(async |_: Setup| {
            let cloud = Arc::new(FolderCloud::open("target/buckets")?);
            Ok(BucketReconciler { cloud })
        })
        .wiring::<Bucket>(|controller| controller.finalizer(FINALIZER))
        .manifests(with_folder)
        .version(env!("CARGO_PKG_VERSION"))
        .example("examples/bucket/bucket.yaml")
        .main()
}
// ANCHOR_END: main

/// The pods cannot write their root file system, so the folder is on a volume. It ends with the pod; a real store is elsewhere.
fn with_folder(manifests: &mut Manifests) {
    let mount = VolumeMount {
        name: "store".into(),
        mount_path: "/target".into(),
        ..VolumeMount::default()
    };
    let mounts = &mut manifests.container().volume_mounts;
    mounts.get_or_insert_default().push(mount);
    let volume = Volume {
        name: "store".into(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    };
    let pod = manifests
        .deployment
        .spec
        .template
        .spec
        .get_or_insert_default();
    pod.volumes.get_or_insert_default().push(volume);
}
