use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, future, stream};

use super::{
    ApiGroup, ApiVersion, Discovery, Problem, ServedKind,
    documents::{self, ListedGroup, Root},
};
use crate::client::{Client, Deadline, Error, ErrorKind, request::url::check_segment};

const PLAIN: &str = "application/json";
/// Requests aggregated discovery, and the plain form from servers without it.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
/// The time limit of one document. The server of an extension may hang, and must not delay the rest.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(30);
/// How many documents are requested at the same time.
const MAX_PARALLEL: usize = 16;

impl Client {
    /// Reads what the server serves.
    ///
    /// This takes two requests if the server aggregates discovery, as all supported releases do. Otherwise it takes one
    /// more request for each version of a group, sixteen at a time, each limited to 30 s.
    ///
    /// # Errors
    /// The list of groups cannot be read. If the kinds of one group cannot be read, this is not an error: see
    /// [`Discovery::failures`].
    pub async fn discover(&self) -> Result<Discovery, Error> {
        let (core, named) = future::join(root(self, "/api"), root(self, "/apis")).await;
        let (named, core) = (named?, core.unwrap_or_else(core_failed));
        let (mut groups, named) = future::join(complete(self, core), complete(self, named)).await;
        groups.extend(named);
        Ok(Discovery { groups })
    }

    /// Reads what the server serves of one group; `""` is the core group. Returns `None` if the group is not served.
    ///
    /// # Errors
    /// The list of the group's versions cannot be read. If the kinds of one version cannot be read, this is not an
    /// error: see [`ApiGroup::failures`].
    pub async fn discover_group(&self, group: &str) -> Result<Option<ApiGroup>, Error> {
        let listed = if group.is_empty() {
            match root(self, "/api").await? {
                Root::Aggregated(groups) => return Ok(groups.into_iter().next()),
                Root::Listed(listed) => listed.into_iter().next(),
            }
        } else {
            let path = path(group, None)?;
            match document(self, &path, PLAIN).await {
                Ok(body) => Some(documents::listed_group(&body).map_err(undecodable(&path))?),
                Err(error) if error.is_not_found() => None,
                Err(error) => return Err(error),
            }
        };
        let listed = Root::Listed(listed.into_iter().collect());
        Ok(complete(self, listed).await.into_iter().next())
    }

    /// Reads the kinds of one version of a group, in one request.
    ///
    /// # Errors
    /// [`Error::is_not_found`] if the version is not served.
    pub async fn discover_version(&self, group: &str, version: &str) -> Result<ApiVersion, Error> {
        let kinds = kinds(self, group, version).await?;
        Ok(ApiVersion {
            name: version.to_owned(),
            kinds,
            problem: None,
        })
    }
}

async fn root(client: &Client, path: &str) -> Result<Root, Error> {
    let body = match document(client, path, AGGREGATED).await {
        // A standalone server for other groups has no core group.
        Err(error) if error.is_not_found() && path == "/api" => {
            return Ok(Root::Listed(Vec::new()));
        }
        Err(error) if error.status().is_some_and(|status| status.code == 406) => {
            document(client, path, PLAIN).await?
        }
        body => body?,
    };
    documents::root(&body).map_err(undecodable(path))
}

/// Every server has the core group in `v1`.
fn core_failed(error: Error) -> Root {
    Root::Aggregated(vec![ApiGroup {
        name: String::new(),
        versions: vec![ApiVersion {
            name: "v1".into(),
            kinds: Vec::new(),
            problem: Some(Problem::Unreadable(Arc::new(error))),
        }],
    }])
}

/// The groups with their kinds. Reads the kinds that did not come with the groups.
async fn complete(client: &Client, root: Root) -> Vec<ApiGroup> {
    let listed = match root {
        Root::Aggregated(groups) => return groups,
        Root::Listed(listed) => listed,
    };
    let pairs = listed.iter().flat_map(|group| {
        let versions = group.versions.iter();
        versions.map(|version| (group.name.clone(), version.clone()))
    });
    let versions = stream::iter(pairs.collect::<Vec<_>>())
        .map(|(group, name)| async move {
            match kinds(client, &group, &name).await {
                Ok(kinds) => ApiVersion {
                    name,
                    kinds,
                    problem: None,
                },
                Err(error) => ApiVersion {
                    name,
                    kinds: Vec::new(),
                    problem: Some(Problem::Unreadable(Arc::new(error))),
                },
            }
        })
        .buffered(MAX_PARALLEL)
        .collect::<Vec<_>>()
        .await;
    let mut versions = versions.into_iter();
    let group = |ListedGroup { name, versions: of }| ApiGroup {
        name,
        versions: versions.by_ref().take(of.len()).collect(),
    };
    listed.into_iter().map(group).collect()
}

async fn kinds(client: &Client, group: &str, version: &str) -> Result<Vec<Arc<ServedKind>>, Error> {
    let path = path(group, Some(version))?;
    let body = document(client, &path, PLAIN).await?;
    documents::resource_list(group, version, &body).map_err(undecodable(&path))
}

/// `/api/<version>`, `/apis/<group>` or `/apis/<group>/<version>`.
fn path(group: &str, version: Option<&str>) -> Result<String, Error> {
    let mut path = if group.is_empty() { "/api" } else { "/apis" }.to_owned();
    let group = Some(group).filter(|group| !group.is_empty());
    for part in [group, version].into_iter().flatten() {
        let wrong = if part
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte))
        {
            check_segment(part).err()
        } else {
            Some("must be letters, digits, `-` and `.`")
        };
        if let Some(wrong) = wrong {
            return Err(Error::new(
                "discover",
                format!("{path}/{part:?}"),
                ErrorKind::Invalid {
                    reason: format!("the name of a group or version {wrong}"),
                },
            ));
        }
        path.push('/');
        path.push_str(part);
    }
    Ok(path)
}

async fn document(
    client: &Client,
    path: &str,
    accept: &'static str,
) -> Result<bytes::Bytes, Error> {
    let answer = tokio::time::timeout(DOCUMENT_TIMEOUT, client.document(path, accept)).await;
    answer.unwrap_or_else(|_| {
        Err(Error::new(
            "discover",
            path.to_owned(),
            ErrorKind::Timeout {
                deadline: Deadline::Total,
                after: DOCUMENT_TIMEOUT,
            },
        ))
    })
}

pub(super) fn undecodable(path: &str) -> impl FnOnce(String) -> Error {
    let target = path.to_owned();
    move |reason| Error::new("discover", target, ErrorKind::Decode { reason })
}
