//! Defects and weak spots of controller-runtime 0.25 that concern controllers, and the tests which show that our controllers
//! do not have them.
//!
//! | defect | test |
//! | --- | --- |
//! | the default backoff ends at 16 min 40 s | `failures::the_longest_delay_is_300_s_with_a_jitter_of_a_tenth` |
//! | keys of low priority wait for ever while others arrive | `queue::fairness_test::a_low_key_waits_for_less_than_30_s_while_high_ones_keep_coming` |
//! | the keys of one tenant delay all others | `queue::fairness_test::a_key_of_another_group_starts_within_two_calls_per_worker` |
//! | one informer that does not sync delays all controllers | `sync::a_forbidden_kind_holds_back_only_its_own_controller_and_shows_in_its_status` |
//! | a controller name cannot be used again in the same process | below |
//! | the map of written keys is never cleaned | `load` |

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};

use super::world::{Probe, World, named, settle};
use crate::controller::Controller;

#[tokio::test(start_paused = true)]
async fn a_controller_can_be_made_anew_and_share_its_name() {
    let world = World::new();
    let (webs, services) = (world.kind::<Deployment>(), world.kind::<Service>());
    let (first, second) = (Probe::<Deployment>::new(), Probe::<Service>::new());
    let (calls, other_calls) = (first.calls.clone(), second.calls.clone());
    world.start(Controller::new(first).named("one"));
    world.start(Controller::new(second).named("one"));
    webs.put(named("a"));
    services.put(named("b"));
    settle().await;
    assert_eq!(calls.keys(), ["default/a"]);
    assert_eq!(other_calls.keys(), ["default/b"]);
    // After both have ended.
    world.cancel.cancel();
    settle().await;
    let world = World::new();
    world.kind::<Deployment>().put(named("a"));
    let third = Probe::<Deployment>::new();
    let calls = third.calls.clone();
    world.start(Controller::new(third).named("one"));
    settle().await;
    assert_eq!(calls.keys(), ["default/a"]);
}
