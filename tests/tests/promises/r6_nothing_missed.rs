//! R6: the last state of every object is delivered.

use pilothouse::testing::{Answer, RequestMatcher};

use super::{resize, started};
use crate::probe::{Probe, Widget, widget};

#[tokio::test(start_paused = true)]
async fn changes_and_deletions_during_a_watch_outage_are_delivered() {
    let probe = Probe::idle();
    let seen = probe.seen();
    let (cluster, running) = started([probe]).await;
    for name in ["changed", "gone", "same", "anew"] {
        cluster.create(&widget(name, 1)).await.unwrap();
        seen.until_calls(name, 1).await;
    }
    let widgets = RequestMatcher::any().resource("widgets");
    cluster.faults().answer(
        widgets.clone().verb("watch"),
        Answer::status(500, "InternalError"),
        3,
    );
    cluster.faults().drop_watches(&widgets);
    resize(&cluster, "changed", 2).await;
    cluster.delete::<Widget>("gone").await.unwrap();
    cluster.delete::<Widget>("anew").await.unwrap();
    cluster.create(&widget("anew", 3)).await.unwrap();
    cluster.create(&widget("new", 1)).await.unwrap();
    // The watch cannot continue at its version, so the informer lists again.
    cluster.faults().compact();
    seen.until_quiet().await;
    let sizes = |name: &str| seen.sizes(name);
    assert_eq!(sizes("changed"), [1, 2]);
    assert_eq!((sizes("gone"), seen.deletions("gone")), (vec![1], 1));
    assert_eq!(sizes("anew").last(), Some(&3));
    assert_eq!(sizes("new"), [1]);
    assert_eq!(sizes("same"), [1]);
    running.stop().await;
}
