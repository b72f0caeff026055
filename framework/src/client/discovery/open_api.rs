use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::fetch::undecodable;
use crate::client::{Client, Error, ErrorKind, decode::decode_plain};

/// The paths of a server's schemas: one OpenAPI 3 document for each version of a group.
///
/// ```no_run
/// # use pilothouse::client::{Client, Error};
/// # async fn example(client: Client) -> Result<(), Error> {
/// let schemas = client.open_api().await?;
/// let deployment = &client.open_api_of(&schemas, "apps/v1").await?["components"]["schemas"]
///     ["io.k8s.api.apps.v1.Deployment"];
/// println!("{}", deployment["description"]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenApi {
    paths: BTreeMap<String, String>,
}

impl OpenApi {
    /// The versions that have a document: `v1`, `apps/v1`, ….
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        self.paths.keys().map(String::as_str)
    }

    /// Path and query of the document of a version, such as `apps/v1`. The query contains a hash of the document, so
    /// the document changes only if the path changes.
    pub fn path(&self, api_version: &str) -> Option<&str> {
        self.paths.get(api_version).map(String::as_str)
    }
}

impl Client {
    /// Reads the list of the server's schemas, in one request.
    ///
    /// # Errors
    /// The request fails.
    pub async fn open_api(&self) -> Result<OpenApi, Error> {
        #[derive(Deserialize)]
        struct Root {
            paths: BTreeMap<String, Entry>,
        }
        #[derive(Deserialize)]
        struct Entry {
            #[serde(rename = "serverRelativeURL")]
            url: String,
        }
        const PATH: &str = "/openapi/v3";
        let body = self.document(PATH, "application/json").await?;
        let root: Root = decode_plain(&body).map_err(undecodable(PATH))?;
        let paths = root.paths.into_iter().filter_map(|(path, entry)| {
            // `api/v1`, `apis/apps/v1`. Other paths are not about kinds.
            let version = path
                .strip_prefix("apis/")
                .filter(|version| version.contains('/'))
                .or_else(|| path.strip_prefix("api/"))?;
            // The server must not direct the client to another host.
            let here = entry.url.starts_with('/') && !entry.url.starts_with("//");
            here.then(|| (version.to_owned(), entry.url))
        });
        Ok(OpenApi {
            paths: paths.collect(),
        })
    }

    /// Reads the schemas of a version, such as `apps/v1`, as OpenAPI 3.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the server has no schemas of that version. Otherwise the request fails.
    pub async fn open_api_of(&self, known: &OpenApi, api_version: &str) -> Result<Value, Error> {
        let Some(path) = known.path(api_version) else {
            return Err(Error::new(
                "discover",
                format!("the schemas of {api_version:?}"),
                ErrorKind::Invalid {
                    reason:
                        "the server has none: check the spelling, or read `Client::open_api` again"
                            .into(),
                },
            ));
        };
        let body = self.document(path, "application/json").await?;
        decode_plain(&body).map_err(undecodable(path))
    }
}
