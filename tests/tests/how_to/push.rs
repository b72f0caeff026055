//! Something outside that calls the operator when it has changed.

// ANCHOR: recipe
use pilothouse::{
    controller::{Channel, TrySendError},
    operator::Route,
    prelude::*,
    resource::ObjectKey,
    server::{Reply, http::StatusCode},
};

use crate::site::{Site, SiteStatus};

struct Sites {
    pushed: Channel,
}

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.source(self.pushed.stream())
    }

    async fn reconcile(&self, _: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let now = cx.now().to_string();
        cx.modify_status(|status: &mut SiteStatus| status.plan = Some(now))
            .await?;
        Ok(Action::wait())
    }
}

/// The answer to a call with the body `NAMESPACE/NAME`.
fn push(pushed: &Channel, body: &[u8]) -> Reply {
    let text = std::str::from_utf8(body).unwrap_or_default().trim();
    let status = match text.split_once('/') {
        None => StatusCode::BAD_REQUEST,
        // A route must not wait: `send` would, if the controller is slow.
        Some((namespace, name)) => match pushed.try_send(ObjectKey::namespaced(namespace, name)) {
            Ok(()) => StatusCode::ACCEPTED,
            Err(TrySendError::Full | TrySendError::Closed(_)) => StatusCode::SERVICE_UNAVAILABLE,
        },
    };
    let mut reply = Reply::new("".into());
    *reply.status_mut() = status;
    reply
}

fn operator() -> Operator {
    let pushed = Channel::new();
    let of_route = pushed.clone();
    Operator::new("sites").controller(Sites { pushed }).route(
        "/push",
        Route::new(move |_setup, request| {
            let reply = push(&of_route, request.body());
            async move { Ok(reply) }
        }),
    )
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;

    use super::*;
    use crate::world::site;

    #[tokio::test(start_paused = true)]
    async fn a_call_leads_to_a_reconcile_of_the_named_object() {
        let cluster = Cluster::start().unwrap();
        let pushed = Channel::new();
        assert_eq!(push(&pushed, b"default").status(), StatusCode::BAD_REQUEST);
        let early = push(&pushed, b"default/a").status();
        assert_eq!(early, StatusCode::SERVICE_UNAVAILABLE, "nobody listens yet");
        let reconciler = Sites {
            pushed: pushed.clone(),
        };
        let running = cluster
            .run(Operator::new("sites").controller(reconciler))
            .await
            .unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster.settle().await;
        let first = cluster.get::<Site>("a").await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let same = cluster.get::<Site>("a").await.unwrap().unwrap();
        assert_eq!(same.resource_version(), first.resource_version());

        let reply = push(&pushed, b"default/a\n");
        assert_eq!(reply.status(), StatusCode::ACCEPTED);
        cluster.settle().await;
        let later = cluster.get::<Site>("a").await.unwrap().unwrap();
        assert_ne!(later.resource_version(), first.resource_version());
        running.stop().await;
        drop(operator());
    }
}
