use std::sync::Arc;

use super::{ApiGroup, ApiVersion, Discovery, MappingError, ServedKind, kind_query::KindQuery};

/// An error lists at most this many names.
const MAX_NAMES: usize = 8;

/// How a name can match a kind, the best match first.
const FITS: [fn(&ServedKind, &str) -> bool; 3] = [
    |kind, name| kind.resource.plural.eq_ignore_ascii_case(name),
    |kind, name| {
        kind.singular.eq_ignore_ascii_case(name) || kind.resource.kind.eq_ignore_ascii_case(name)
    },
    |kind, name| {
        let mut short_names = kind.short_names.iter();
        short_names.any(|short| short.eq_ignore_ascii_case(name))
    },
];

/// Finds the requested kind in `discovery`.
///
/// A plural name comes before a kind or singular, and these before a short name. The core group comes before
/// Kubernetes' own groups in the server's order, and these before all others, which have no order. Within a group, the
/// best version with that name is used.
pub(super) fn resolve(
    discovery: &Discovery,
    query: &KindQuery,
) -> Result<Arc<ServedKind>, MappingError> {
    let groups = || {
        let groups = discovery.groups.iter();
        groups.filter(|group| query.group.as_ref().is_none_or(|name| group.name == *name))
    };
    let fits: &[fn(&ServedKind, &str) -> bool] = if query.is_kind {
        &[|kind, name| kind.resource.kind == name]
    } else {
        &FITS
    };
    let candidates = fits
        .iter()
        .map(|fit| {
            groups()
                .flat_map(|group| matching(group, query, *fit))
                .collect::<Vec<_>>()
        })
        .find(|candidates| !candidates.is_empty());
    let failed = || groups().flat_map(ApiGroup::failures);
    if let Some(candidates) = candidates {
        let chosen = choose(query, candidates)?;
        // The core group would have come first, but could not be read.
        let is_first =
            chosen.resource.group.is_empty() || failed().all(|failure| !failure.group.is_empty());
        if is_first {
            return Ok(chosen);
        }
    }
    let is_asked_for = |version: &str| query.version.as_deref().is_none_or(|name| name == version);
    let failures: Vec<String> = failed()
        .filter(|failure| is_asked_for(failure.version))
        .map(|failure| failure.to_string())
        .collect();
    if !failures.is_empty() {
        return Err(MappingError::Unreadable {
            query: query.to_string(),
            failures: failures.join("; "),
        });
    }
    Err(MappingError::NotFound {
        query: query.to_string(),
        hint: hint(discovery, query, fits),
    })
}

/// The matching kinds, in the best version of the group that has any.
fn matching<'a>(
    group: &'a ApiGroup,
    query: &'a KindQuery,
    fit: fn(&ServedKind, &str) -> bool,
) -> Vec<&'a Arc<ServedKind>> {
    let versions = group.versions().filter(|version| {
        let name = query.version.as_deref();
        name.is_none_or(|name| version.name == name)
    });
    versions
        .map(|version| in_version(version, &query.name, fit))
        .find(|kinds| !kinds.is_empty())
        .unwrap_or_default()
}

fn in_version<'a>(
    version: &'a ApiVersion,
    name: &str,
    fit: fn(&ServedKind, &str) -> bool,
) -> Vec<&'a Arc<ServedKind>> {
    let kinds = version.kinds.iter();
    kinds.filter(|kind| fit(kind, name)).collect()
}

fn choose(
    query: &KindQuery,
    candidates: Vec<&Arc<ServedKind>>,
) -> Result<Arc<ServedKind>, MappingError> {
    let best = candidates.iter().map(|kind| rank(kind)).min();
    let mut of_best = candidates.iter().filter(|kind| Some(rank(kind)) == best);
    let first = of_best.next();
    // Kubernetes' own groups have an order, so only another match in the same group is ambiguous.
    let rival = of_best.find(|other| {
        best == Some(Rank::Other)
            || first.is_some_and(|first| first.resource.group == other.resource.group)
    });
    match (first, rival) {
        (Some(first), None) => Ok(Arc::clone(first)),
        _ => Err(MappingError::Ambiguous {
            query: query.to_string(),
            candidates: candidates
                .iter()
                .map(|kind| kind.resource.clone())
                .collect(),
        }),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Core,
    /// Groups without a dot, or below `k8s.io`, which Kubernetes reserves for itself.
    Kubernetes,
    Other,
}

fn rank(kind: &ServedKind) -> Rank {
    match &*kind.resource.group {
        "" => Rank::Core,
        group if !group.contains('.') || group.ends_with(".k8s.io") => Rank::Kubernetes,
        _ => Rank::Other,
    }
}

/// What the server serves instead, and what to do.
fn hint(
    discovery: &Discovery,
    query: &KindQuery,
    fits: &[fn(&ServedKind, &str) -> bool],
) -> String {
    let Some(name) = &query.group else {
        return "the server serves nothing of that name: install its definition, or check the spelling".into();
    };
    let Some(group) = discovery.group(name) else {
        return "the server does not serve the group: install its definition, or check the spelling"
            .into();
    };
    let has_it = group.versions().filter(|version| {
        let fit = |fit: &fn(&ServedKind, &str) -> bool| {
            version.kinds.iter().any(|kind| fit(kind, &query.name))
        };
        fits.iter().any(fit)
    });
    let versions: Vec<_> = has_it.map(|version| version.name.as_str()).collect();
    if !versions.is_empty() {
        return format!(
            "the server serves it in {}: use that, or install a definition with the version",
            versions.join(", ")
        );
    }
    let mut kinds: Vec<_> = group
        .preferred_kinds()
        .map(|kind| match query.is_kind {
            true => &*kind.resource.kind,
            false => &*kind.resource.plural,
        })
        .collect();
    if kinds.len() > MAX_NAMES {
        kinds.truncate(MAX_NAMES);
        kinds.push("…");
    }
    format!(
        "the group has {}: check the spelling, or install its definition",
        kinds.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::discovery::{Problem, documents};
    use serde_json::{Value, json};

    fn kind(plural: &str, kind: &str, short: &[&str]) -> Value {
        json!({
            "resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced",
            "singularResource": kind.to_lowercase(), "verbs": ["get"], "shortNames": short,
        })
    }

    fn group(name: &str, versions: &[(&str, Vec<Value>)]) -> Value {
        let versions: Vec<_> = versions
            .iter()
            .map(|(version, kinds)| json!({"version": version, "resources": kinds}))
            .collect();
        json!({"metadata": {"name": name}, "versions": versions})
    }

    fn world() -> Discovery {
        let document = json!({"kind": "APIGroupDiscoveryList", "items": [
            group("", &[("v1", vec![
                kind("pods", "Pod", &["po"]), kind("events", "Event", &["ev"]), kind("services", "Service", &["svc"]),
            ])]),
            group("apps", &[("v1", vec![kind("deployments", "Deployment", &["deploy"])])]),
            group("extensions", &[("v1beta1", vec![kind("deployments", "Deployment", &["deploy"])])]),
            group("events.k8s.io", &[("v1", vec![kind("events", "Event", &["ev"])])]),
            group("metrics.k8s.io", &[("v1beta1", vec![kind("pods", "PodMetrics", &[])])]),
            group("autoscaling", &[
                ("v2", vec![kind("scalers", "Scaler", &[])]),
                ("v1", vec![kind("scalers", "Scaler", &[]), kind("olds", "Old", &[])]),
            ]),
            group("a.dev", &[("v1", vec![
                kind("sites", "Site", &["po"]), kind("svc", "Switch", &[]), kind("firsts", "First", &["x"]), kind("seconds", "Second", &["x"]),
            ])]),
            group("b.dev", &[("v1", vec![kind("sites", "Site", &[]), kind("tubes", "Pod", &[])])]),
        ]});
        match documents::root(document.to_string().as_bytes()) {
            Ok(documents::Root::Aggregated(groups)) => Discovery { groups },
            other => panic!("{other:?}"),
        }
    }

    fn found(discovery: &Discovery, query: &KindQuery) -> String {
        match resolve(discovery, query) {
            Ok(kind) => kind.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn names_are_resolved_by_priority_and_an_ambiguous_name_lists_its_candidates() {
        let world = world();
        let table = [
            ("pods", "pods/v1"),
            ("po", "pods/v1"),
            ("POD", "pods/v1"),
            ("events", "events/v1"),
            ("events.events.k8s.io", "events.events.k8s.io/v1"),
            ("deploy", "deployments.apps/v1"),
            ("deploy.extensions", "deployments.extensions/v1beta1"),
            ("scalers", "scalers.autoscaling/v2"),
            ("scaler.v1.autoscaling", "scalers.autoscaling/v1"),
            ("olds", "olds.autoscaling/v1"),
            ("svc", "svc.a.dev/v1"),
            ("podmetrics", "pods.metrics.k8s.io/v1beta1"),
            ("site.b.dev", "sites.b.dev/v1"),
            (
                "sites",
                "resource \"sites\" can be any of sites.a.dev, sites.b.dev: name one of them",
            ),
            (
                "x.a.dev",
                "resource \"x\" in group \"a.dev\" can be any of firsts.a.dev, seconds.a.dev: name one of them",
            ),
            (
                "foos",
                "no resource \"foos\": the server serves nothing of that name: install its definition, or check the spelling",
            ),
            (
                "olds.v2.autoscaling",
                "no resource \"olds\" in autoscaling/v2: the server serves it in v1: use that, or install a definition with the version",
            ),
        ];
        for (name, expected) in table {
            assert_eq!(
                found(&world, &KindQuery::readings(name).0),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn kinds_are_found_by_the_names_of_manifests() {
        let world = world();
        let table = [
            (KindQuery::kind("v1", "Pod"), "pods/v1"),
            (
                KindQuery::kind("apps/v1", "Deployment"),
                "deployments.apps/v1",
            ),
            (KindQuery::kind_in_group("b.dev", "Pod"), "tubes.b.dev/v1"),
            (
                KindQuery::kind_in_group("autoscaling", "Old"),
                "olds.autoscaling/v1",
            ),
            (
                KindQuery::kind("apps/v1", "deployment"),
                "no kind \"deployment\" in apps/v1: the group has Deployment: check the spelling, or install its definition",
            ),
            (
                KindQuery::kind("apps/v2", "Deployment"),
                "no kind \"Deployment\" in apps/v2: the server serves it in v1: use that, or install a definition with the version",
            ),
            (
                KindQuery::kind_in_group("bar.dev", "Foo"),
                "no kind \"Foo\" in group \"bar.dev\": the server does not serve the group: install its definition, or check the spelling",
            ),
        ];
        for (query, expected) in table {
            assert_eq!(found(&world, &query), expected);
        }
    }

    #[test]
    fn an_unreadable_group_is_reported_and_never_counts_as_absent() {
        let mut world = world();
        let mut break_group = |name: &str| {
            let group = world.groups.iter_mut().find(|group| group.name == name);
            for version in &mut group.unwrap().versions {
                version.problem = Some(Problem::Stale);
                version.kinds.clear();
            }
            world.clone()
        };
        let stale = "the API server's own view of it is stale: see the APIService of that version";
        let metrics_broken = break_group("metrics.k8s.io");
        for (name, expected) in [
            ("deploy", "deployments.apps/v1".to_owned()),
            (
                "foos",
                format!(
                    "cannot tell what resource \"foos\" is: group \"metrics.k8s.io\" (v1beta1): {stale}"
                ),
            ),
            (
                "foos.apps",
                "no resource \"foos\" in group \"apps\": the group has deployments: check the spelling, or install its definition".into(),
            ),
        ] {
            assert_eq!(found(&metrics_broken, &KindQuery::readings(name).0), expected);
        }
        let core_broken = break_group("");
        for (name, expected) in [
            (
                "Pod",
                format!(
                    "cannot tell what resource \"Pod\" is: the core group (v1): {stale}; group \"metrics.k8s.io\" (v1beta1): {stale}"
                ),
            ),
            ("tubes.b.dev", "tubes.b.dev/v1".into()),
        ] {
            assert_eq!(found(&core_broken, &KindQuery::readings(name).0), expected);
        }
    }
}
