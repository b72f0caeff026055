use std::sync::Arc;

use bucket::{Bucket, BucketReconciler, FINALIZER, FolderCloud};
use pilothouse::{operator::Setup, prelude::*};

// ANCHOR: main
fn main() -> ExitCode {
    // The folder takes the place of the store. It is opened only by `run` and `dev`.
    Operator::new("bucket")
        .controller_with(async |_: Setup| {
            let cloud = Arc::new(FolderCloud::open("target/buckets")?);
            Ok(BucketReconciler { cloud })
        })
        .wiring::<Bucket>(|controller| controller.finalizer(FINALIZER))
        .version(env!("CARGO_PKG_VERSION"))
        .example("examples/bucket/bucket.yaml")
        .main()
}
// ANCHOR_END: main
