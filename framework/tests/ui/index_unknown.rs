use pilothouse::cache::{Index, Lister};
use pilothouse::k8s::api::core::v1::{ConfigMap, Pod};

fn reads(pods: Lister<Pod>) {
    // An index has no name to be misspelt, and its declaration finds nothing before it is added.
    pods.by("by-node", "node-1");
    pods.by(&Index::by(|pod: &Pod| pod.spec.as_ref()?.node_name.clone()), "node-1");
}

fn of_another_kind(pods: Lister<Pod>, maps: pilothouse::cache::SharedInformer<ConfigMap>) {
    let by_app = maps.add_index(Index::label("app"));
    pods.by(&by_app, "web");
}

fn main() {}
