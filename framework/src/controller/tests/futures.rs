//! The sizes of the futures of a call. Each worker has one of each, and a build without optimisation copies a future in each
//! call on its way.

use std::time::Duration;

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use tokio_util::sync::CancellationToken;

use super::world::Probe;
use crate::controller::{Context, worker::Invoker};

type Cx = &'static Context<Deployment>;
type Invoked = (
    &'static Invoker<Probe<Deployment>>,
    Cx,
    &'static CancellationToken,
);

/// The size in bytes of the future that a function returns.
fn size<A, F: Future>(_: impl FnOnce(A) -> F) -> usize {
    size_of::<F>()
}

#[test]
fn the_futures_of_a_call_are_small() {
    let apply = size(|cx: Cx| cx.apply(ConfigMap::default()));
    assert!(apply <= 4000, "apply: {apply} bytes");
    let invoke = size(|(invoker, cx, outdated): Invoked| {
        invoker.invoke(cx, Some(Duration::MAX), Some(outdated))
    });
    assert!(invoke <= 1200, "the call of a reconciler: {invoke} bytes");
}
