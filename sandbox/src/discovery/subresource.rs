use super::resource_list::SUBRESOURCE_VERBS;
use crate::registry::ServedKind;

/// A subresource that only one kind has.
pub(super) struct Subresource {
    pub(super) name: &'static str,
    /// Group of its kind; empty for that of the kind it belongs to.
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    pub(super) verbs: &'static [&'static str],
}

const OF_PODS: [Subresource; 4] = [
    Subresource {
        name: "binding",
        group: "",
        kind: "Binding",
        verbs: &["create"],
    },
    Subresource {
        name: "ephemeralcontainers",
        group: "",
        kind: "Pod",
        verbs: &SUBRESOURCE_VERBS,
    },
    Subresource {
        name: "eviction",
        group: "policy",
        kind: "Eviction",
        verbs: &["create"],
    },
    Subresource {
        name: "resize",
        group: "",
        kind: "Pod",
        verbs: &SUBRESOURCE_VERBS,
    },
];

const OF_ACCOUNTS: [Subresource; 1] = [Subresource {
    name: "token",
    group: "authentication.k8s.io",
    kind: "TokenRequest",
    verbs: &["create"],
}];

impl Subresource {
    /// Those of a kind, by name.
    pub(super) fn of(kind: &ServedKind) -> &'static [Self] {
        match (kind.group.as_str(), kind.plural.as_str()) {
            ("", "pods") => &OF_PODS,
            ("", "serviceaccounts") => &OF_ACCOUNTS,
            _ => &[],
        }
    }
}
