//! The kinds that the API server only stores, although a real cluster acts on them.
//!
//! The operator's own `dev` names them when the server is in its process. Here it is in this one, which sees what the operator watches.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use pilothouse_sandbox::{RecordedRequest, Sandbox};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The kinds that an operator of this server watches, and that the server only stores.
///
/// # Errors
/// The server does not tell its kinds.
pub(super) async fn only_stored(sandbox: &Sandbox) -> io::Result<BTreeSet<String>> {
    let mut watched = BTreeMap::<(String, String), BTreeSet<String>>::new();
    for request in sandbox.requests().into_iter().filter(is_watch) {
        let version = (request.group, request.version);
        watched.entry(version).or_default().insert(request.resource);
    }
    let mut found = BTreeSet::new();
    for ((group, version), resources) in watched {
        let path = match group.is_empty() {
            true => format!("/api/{version}"),
            false => format!("/apis/{group}/{version}"),
        };
        let list = get(sandbox, &path).await?;
        let served = list["resources"].as_array().into_iter().flatten();
        let kinds = served
            .filter(|one| {
                one["name"]
                    .as_str()
                    .is_some_and(|name| resources.contains(name))
            })
            .filter_map(|one| one["kind"].as_str())
            .filter(|kind| sandbox.only_stores(&group, kind));
        found.extend(kinds.map(str::to_owned));
    }
    Ok(found)
}

/// Whether a program other than kubectl watches a kind.
fn is_watch(request: &RecordedRequest) -> bool {
    request.verb == "watch" && !request.user_agent.starts_with("kubectl")
}

/// Reads a path of the server as its administrator.
async fn get(sandbox: &Sandbox, path: &str) -> io::Result<Value> {
    let mut connection = sandbox.connect();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
    );
    connection.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = end.map_or(&[][..], |at| &answer[at + 4..]);
    Ok(serde_json::from_slice(body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn watch(sandbox: &Sandbox, path: &str, agent: &str) -> tokio::io::DuplexStream {
        let mut connection = sandbox.connect();
        let request = format!(
            "GET {path}?watch=true HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {agent}\r\n\r\n"
        );
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut begin = [0; 12];
        connection.read_exact(&mut begin).await.unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200");
        connection
    }

    #[tokio::test]
    async fn kinds_that_the_operator_watches_and_nothing_acts_on_are_named() {
        let sandbox = Sandbox::builder().simulator(true).build().unwrap();
        assert_eq!(only_stored(&sandbox).await.unwrap(), BTreeSet::new());
        let ingresses = "/apis/networking.k8s.io/v1/ingresses";
        let policies = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
        let mut open = Vec::new();
        for (path, agent) in [
            (ingresses, "website/1"),
            ("/api/v1/configmaps", "website/1"),
            ("/apis/apps/v1/deployments", "website/1"),
            (policies, "kubectl/v1.37.2"),
        ] {
            open.push(watch(&sandbox, path, agent).await);
        }
        let expected = BTreeSet::from(["Ingress".to_owned()]);
        assert_eq!(only_stored(&sandbox).await.unwrap(), expected);
        sandbox.shutdown().await;
    }
}
