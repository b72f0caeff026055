use pilothouse::{
    client::{Api, Client, DeleteParams},
    k8s::api::{
        apps::v1::Deployment,
        core::v1::{Node, Pod},
    },
    resource::AllNamespaces,
};

fn one_of_all_namespaces(everywhere: &Api<Deployment, AllNamespaces>) {
    let _ = everywhere.get("web");
    let _ = everywhere.get_scale("web");
}

fn a_node_in_a_namespace(client: &Client) {
    Api::<Node>::namespaced(client, "default");
}

fn what_only_other_kinds_have(deployments: &Api<Deployment>, pods: &Api<Pod>) {
    let _ = deployments.evict("web", &DeleteParams::default());
    let _ = pods.restart("web");
}

fn main() {}
