//! Defects that were seen in controllers of kube-rs 4, and the tests which show that our controllers do not have them.
//!
//! | defect | test |
//! | --- | --- |
//! | c: children of a cluster-scoped owner in several namespaces led to overlapping calls | `keys::children_of_a_cluster_scoped_owner_in_many_namespaces_lead_to_one_key` |
//! | i: a panic of a reconcile ended the controller | `failures::a_panic_of_one_reconcile_is_counted_and_other_keys_are_not_affected` |
//! | k: a predicate on the generation hid deletions | `keys::a_predicate_hides_changes_but_no_deletion` |
//! | p: one failing watch slowed down all the others of its controller | below |
//! | w: the note of a repeated Event stayed the first one | `events::tests::series::the_newest_note_is_kept` |
//! | x: an Event that was deleted on the server was not recorded again | `events::tests::series::a_deleted_event_is_created_again_with_its_count` |
//! | y: waiting for a condition ended at the first error | `client::tests::waits::a_state_is_waited_for_over_everything_that_breaks` |

use std::time::Duration;

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};

use super::{
    load::server::Server,
    world::{Probe, World, named, pass, settle},
};
use crate::controller::Controller;

#[tokio::test(start_paused = true)]
async fn a_failing_watch_of_one_kind_does_not_delay_changes_of_another_kind() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let children = Server::<ConfigMap>::new();
    children.serve(&world);
    let probe = Probe::<Deployment>::new().wired(|controller| controller.owns::<ConfigMap>());
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    settle().await;
    calls.clear();
    children.fail_for(Duration::from_secs(600));
    children.end_watches(true);
    for number in 0..20 {
        webs.put(named(&format!("web-{number}")));
        pass(1000).await;
    }
    let times: Vec<_> = (0..20).map(|number| number * 1000).collect();
    assert_eq!(calls.times(), times);
}
