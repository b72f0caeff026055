//! Operators that do not start.

use std::net::TcpListener;

use pilothouse::{
    controller::Owned,
    election::ElectionSettings,
    k8s::api::core::v1::Namespace,
    prelude::*,
    resource::{ApiResource, DynamicObject},
    testing::Cluster,
};

use super::{Mistake, error, mistake};

type Wire = fn(Controller<Wired>) -> Controller<Wired>;

/// A reconciler whose `wire` is a function of the test.
struct Wired(Wire);

impl Reconciler for Wired {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        (self.0)(controller)
    }

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> {
        Ok(Action::wait())
    }
}

impl Cleanup for Wired {}

fn operator(wire: Wire) -> Operator {
    Operator::new("website").controller(Wired(wire))
}

pub(super) async fn all() -> Vec<Mistake> {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}").parse().unwrap();
    let rows = [
        (
            "A finalizer has no domain.",
            operator(|controller| controller.finalizer("website")),
        ),
        (
            "A finalizer has capital letters in its domain.",
            operator(|controller| controller.finalizer("Example.com/website")),
        ),
        (
            "A finalizer ends with a dash.",
            operator(|controller| controller.finalizer("example.com/website-")),
        ),
        (
            "A finalizer has no name after the domain.",
            operator(|controller| controller.finalizer("example.com/")),
        ),
        (
            "A finalizer is declared twice.",
            operator(|controller| {
                controller
                    .finalizer("example.com/a")
                    .finalizer("example.com/a")
            }),
        ),
        (
            "The name of a controller is empty.",
            operator(|controller| controller.named("")),
        ),
        (
            "The name of a controller contains a `/`.",
            operator(|controller| controller.named("team/website")),
        ),
        (
            "The name of a controller contains spaces.",
            operator(|controller| controller.named("my websites")),
        ),
        (
            "Two controllers of one kind have no names.",
            operator(|controller| controller).controller(Wired(|controller| controller)),
        ),
        (
            "A namespaced kind owns a cluster-scoped kind that is known only at run time.",
            operator(|controller| {
                let namespaces = ApiResource::of::<Namespace>();
                controller.watch(Owned::<DynamicObject>::dynamic(namespaces))
            }),
        ),
        (
            "The name of the operator contains spaces.",
            Operator::new("My Website").controller(Wired(|controller| controller)),
        ),
        (
            "The operator works in a namespace with an invalid name.",
            operator(|controller| controller).namespace("Default"),
        ),
        (
            "The operator works in the namespace with the empty name.",
            operator(|controller| controller).namespace(""),
        ),
        (
            "The election renews its Lease more slowly than the Lease ends.",
            operator(|controller| controller).election(
                ElectionSettings::new("website").namespace("default").times(
                    Duration::from_secs(10),
                    Duration::from_secs(15),
                    Duration::from_secs(2),
                ),
            ),
        ),
        (
            "The Lease has an invalid name.",
            operator(|controller| controller)
                .election(ElectionSettings::new("My Lease").namespace("default")),
        ),
        (
            "The address for metrics is taken.",
            operator(|controller| controller).metrics_address(address),
        ),
        (
            "The function that builds the reconciler fails.",
            Operator::new("website")
                .controller_with(|_| async { Err::<Wired, _>(Failure::new("IMAGE is not set")) }),
        ),
    ];
    let mut all = Vec::new();
    for (did, operator) in rows {
        let cluster = Cluster::start().unwrap();
        let seen = error(cluster.run(operator).await);
        let text = seen.replace(&port.to_string(), "8080");
        all.push(mistake(did, text));
    }
    all
}
