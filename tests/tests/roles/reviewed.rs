//! The roles of an operator that reviews its readers, and those of the readers.

use pilothouse::{
    k8s::api::rbac::v1::{ClusterRole, ClusterRoleBinding},
    manifests::Roles,
    operator::{Operator, Serving},
    server::Address,
    testing::{Cluster, Sandbox},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{example, roles};

fn operator() -> Operator {
    example("website")
        .operator()
        .metrics_address(Address::loopback(0))
        .serving(Serving::http().authorized())
        .debug_page()
}

/// The codes of answers to users who have the printed role for readers of this name, for two pages.
async fn answers(roles: &Roles, role: &str) -> [u16; 2] {
    let sandbox = Sandbox::builder().seed(1).rbac(true);
    let cluster = Cluster::with(sandbox.token("reader", "secret", [""; 0])).unwrap();
    let running = cluster.run_with_roles(operator(), roles).await.unwrap();
    let binding = json!({"metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}]});
    let binding: ClusterRoleBinding = serde_json::from_value(binding).unwrap();
    cluster.create(&binding).await.unwrap();
    let mut codes = [0; 2];
    for (code, path) in codes.iter_mut().zip(["/metrics", "/debug/state.json"]) {
        let address = running.http_address().unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer secret\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        *code = answer.split(' ').nth(1).unwrap().parse().unwrap();
    }
    running.stop().await;
    cluster.stop().await;
    codes
}

#[tokio::test]
async fn readers_read_what_their_printed_role_allows_and_reviews_need_their_rules() {
    let all = roles(operator());
    assert_eq!(answers(&all, "website-metrics-reader").await, [200, 403]);
    assert_eq!(answers(&all, "website-debug-reader").await, [403, 200]);
    for review in ["tokenreviews", "subjectaccessreviews"] {
        let mut without = all.clone();
        let is_own = |role: &&mut ClusterRole| role.metadata.name.as_deref() == Some("website");
        let own = without.cluster_roles.iter_mut().find(is_own).unwrap();
        let rules = own.rules.get_or_insert_default();
        let number = rules.len();
        rules.retain(|rule| rule.resources.as_deref() != Some(&[review.to_owned()][..]));
        assert_eq!(rules.len(), number - 1);
        assert_eq!(
            answers(&without, "website-metrics-reader").await,
            [500, 500]
        );
    }
}
