use std::sync::Arc;

use serde::{Deserialize, Deserializer};

use super::{ApiGroup, ApiVersion, Problem, ServedKind, ServedSubresource};
use crate::{client::decode::decode_plain, resource::ApiResource};

/// The answer of `/api` or `/apis`.
#[derive(Debug)]
pub(super) enum Root {
    /// Groups, versions and kinds.
    Aggregated(Vec<ApiGroup>),
    /// Only the groups and the names of their versions. Each version has a document of its own.
    Listed(Vec<ListedGroup>),
}

/// A group and the names of its versions, the preferred one first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ListedGroup {
    pub(super) name: String,
    pub(super) versions: Vec<String>,
}

/// Decodes the answer of `/api` or `/apis`, in any of its forms.
pub(super) fn root(body: &[u8]) -> Result<Root, String> {
    #[derive(Deserialize)]
    struct Document {
        #[serde(default)]
        kind: String,
        #[serde(default, deserialize_with = "or_default")]
        items: Vec<AggregatedGroup>,
        #[serde(default, deserialize_with = "or_default")]
        groups: Vec<WireGroup>,
        #[serde(default, deserialize_with = "or_default")]
        versions: Vec<String>,
    }
    let document: Document = decode_plain(body)?;
    match document.kind.as_str() {
        "APIGroupDiscoveryList" => Ok(Root::Aggregated(
            document.items.into_iter().map(group).collect(),
        )),
        "APIGroupList" => Ok(Root::Listed(
            document.groups.into_iter().map(WireGroup::listed).collect(),
        )),
        "APIVersions" => Ok(Root::Listed(vec![ListedGroup {
            name: String::new(),
            versions: document.versions,
        }])),
        _ => Err("it is not a discovery document: `kind` must be APIGroupDiscoveryList, APIGroupList or APIVersions".into()),
    }
}

/// Decodes the answer of `/apis/<group>`.
pub(super) fn listed_group(body: &[u8]) -> Result<ListedGroup, String> {
    decode_plain::<WireGroup>(body).map(WireGroup::listed)
}

/// Decodes the answer of `/api/<version>` or `/apis/<group>/<version>`.
pub(super) fn resource_list(
    group: &str,
    version: &str,
    body: &[u8],
) -> Result<Vec<Arc<ServedKind>>, String> {
    #[derive(Deserialize)]
    struct Document {
        #[serde(default, deserialize_with = "or_default")]
        resources: Vec<WireResource>,
    }
    let document: Document = decode_plain(body)?;
    let (mains, subs): (Vec<_>, Vec<_>) = document
        .resources
        .into_iter()
        .filter(|entry| !entry.kind.is_empty())
        .partition(|entry| !entry.name.contains('/'));
    let kinds = mains.into_iter().map(|main| {
        let own = subs.iter().filter_map(|sub| {
            let name = sub.name.strip_prefix(&main.name)?.strip_prefix('/')?;
            Some(ServedSubresource {
                name: name.to_owned(),
                api_version: match sub.version.as_str() {
                    "" => api_version(group, version),
                    other => api_version(&sub.group, other),
                },
                kind: sub.kind.clone(),
                verbs: sub.verbs.clone(),
            })
        });
        let subresources = own.collect();
        Arc::new(ServedKind {
            singular: singular(main.singular_name, &main.kind),
            resource: ApiResource {
                group: group.to_owned().into(),
                version: version.to_owned().into(),
                kind: main.kind.into(),
                plural: main.name.into(),
                namespaced: main.namespaced,
            },
            short_names: main.short_names,
            categories: main.categories,
            verbs: main.verbs,
            subresources,
        })
    });
    Ok(kinds.collect())
}

fn group(wire: AggregatedGroup) -> ApiGroup {
    let name = wire.metadata.name;
    let versions = wire.versions.into_iter().map(|wire| {
        let resources = wire.resources.into_iter();
        ApiVersion {
            kinds: resources
                .filter_map(|resource| aggregated_kind(&name, &wire.version, resource))
                .map(Arc::new)
                .collect(),
            problem: (wire.freshness == "Stale").then_some(Problem::Stale),
            name: wire.version,
        }
    });
    ApiGroup {
        versions: versions.collect(),
        name,
    }
}

/// `None` for an entry that only holds subresources.
fn aggregated_kind(group: &str, version: &str, wire: AggregatedResource) -> Option<ServedKind> {
    let kind = wire.response_kind.filter(|kind| !kind.kind.is_empty())?;
    let subresources = wire.subresources.into_iter().filter_map(|wire| {
        let kind = wire.response_kind.filter(|kind| !kind.kind.is_empty())?;
        Some(ServedSubresource {
            name: wire.subresource,
            api_version: match kind.version.as_str() {
                "" => api_version(group, version),
                other => api_version(&kind.group, other),
            },
            kind: kind.kind,
            verbs: wire.verbs,
        })
    });
    Some(ServedKind {
        subresources: subresources.collect(),
        singular: singular(wire.singular_resource, &kind.kind),
        resource: ApiResource {
            group: group.to_owned().into(),
            version: version.to_owned().into(),
            kind: kind.kind.into(),
            plural: wire.resource.into(),
            namespaced: wire.scope == "Namespaced",
        },
        short_names: wire.short_names,
        categories: wire.categories,
        verbs: wire.verbs,
    })
}

fn api_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

/// Some servers leave the singular out.
fn singular(singular: String, kind: &str) -> String {
    if singular.is_empty() {
        kind.to_lowercase()
    } else {
        singular
    }
}

/// Servers written in Go answer `null` for an empty list.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireGroup {
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    versions: Vec<WireVersion>,
    #[serde(default, deserialize_with = "or_default")]
    preferred_version: WireVersion,
}

#[derive(Default, Deserialize)]
struct WireVersion {
    #[serde(default)]
    version: String,
}

impl WireGroup {
    fn listed(self) -> ListedGroup {
        let preferred = self.preferred_version.version;
        let mut versions: Vec<_> = self.versions.into_iter().map(|wire| wire.version).collect();
        versions.sort_by_key(|version| *version != preferred);
        ListedGroup {
            name: self.name,
            versions,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResource {
    name: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default)]
    group: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    verbs: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    short_names: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    categories: Vec<String>,
}

#[derive(Deserialize)]
struct AggregatedGroup {
    #[serde(default, deserialize_with = "or_default")]
    metadata: AggregatedMetadata,
    #[serde(default, deserialize_with = "or_default")]
    versions: Vec<AggregatedVersion>,
}

#[derive(Default, Deserialize)]
struct AggregatedMetadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct AggregatedVersion {
    version: String,
    #[serde(default, deserialize_with = "or_default")]
    resources: Vec<AggregatedResource>,
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AggregatedResource {
    resource: String,
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default, deserialize_with = "or_default")]
    verbs: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    short_names: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    categories: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    subresources: Vec<AggregatedSubresource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AggregatedSubresource {
    subresource: String,
    response_kind: Option<ResponseKind>,
    #[serde(default, deserialize_with = "or_default")]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    #[serde(default)]
    group: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    kind: String,
}
