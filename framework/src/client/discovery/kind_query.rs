use std::fmt;

/// The kind that a caller looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KindQuery {
    pub(super) name: String,
    /// `""` is the core group, `None` any group.
    pub(super) group: Option<String>,
    pub(super) version: Option<String>,
    /// Whether the name is a kind as in manifests. Otherwise it is any name that people type.
    pub(super) is_kind: bool,
}

impl KindQuery {
    /// The kind of a manifest.
    pub(super) fn kind(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            name: kind.to_owned(),
            group: Some(group.to_owned()),
            version: Some(version.to_owned()),
            is_kind: true,
        }
    }

    pub(super) fn kind_in_group(group: &str, kind: &str) -> Self {
        Self {
            name: kind.to_owned(),
            group: Some(group.to_owned()),
            version: None,
            is_kind: true,
        }
    }

    /// What `text` can mean, the likelier meaning first: `name`, `name.group`, or `name.version.group`. The last one
    /// can also be a group that begins like a version.
    pub(super) fn readings(text: &str) -> (Self, Option<Self>) {
        let reading = |name: &str, group: Option<&str>, version: Option<&str>| Self {
            name: name.to_owned(),
            group: group.map(str::to_owned),
            version: version.map(str::to_owned),
            is_kind: false,
        };
        let Some((name, rest)) = text.split_once('.') else {
            return (reading(text, None, None), None);
        };
        let (first, group) = rest.split_once('.').unwrap_or((rest, ""));
        let in_group = reading(name, Some(rest), None);
        if looks_like_version(first) {
            (reading(name, Some(group), Some(first)), Some(in_group))
        } else {
            (in_group, None)
        }
    }
}

/// `v1`, `v2beta1`.
fn looks_like_version(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(rest) = text.strip_prefix('v') else {
        return false;
    };
    let stage = rest.split_once("alpha").or_else(|| rest.split_once("beta"));
    match stage {
        Some((major, minor)) => digits(major) && digits(minor),
        None => digits(rest),
    }
}

/// `kind "Foo" in group "bar.dev"`, `resource "foos" in bar.dev/v1`.
impl fmt::Display for KindQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_kind { "kind" } else { "resource" };
        write!(f, "{what} {:?}", self.name)?;
        match (self.group.as_deref(), self.version.as_deref()) {
            (Some(""), Some(version)) => write!(f, " in {version}"),
            (Some(""), None) => f.write_str(" in the core group"),
            (Some(group), Some(version)) => write!(f, " in {group}/{version}"),
            (Some(group), None) => write!(f, " in group {group:?}"),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_kubectl_reads_them() {
        let table = [
            ("deploy", "deploy - -"),
            ("Deployment", "Deployment - -"),
            ("deployments.apps", "deployments apps -"),
            (
                "deployments.v1.apps",
                "deployments apps v1 | deployments v1.apps -",
            ),
            ("pods.v1", "pods  v1 | pods v1 -"),
            ("pods.v1.", "pods  v1 | pods v1. -"),
            (
                "sites.v2beta1.demo.dev",
                "sites demo.dev v2beta1 | sites v2beta1.demo.dev -",
            ),
            ("sites.vendor.dev", "sites vendor.dev -"),
            ("sites.v1x.dev", "sites v1x.dev -"),
        ];
        let shown = |query: &KindQuery| {
            format!(
                "{} {} {}",
                query.name,
                query.group.as_deref().unwrap_or("-"),
                query.version.as_deref().unwrap_or("-")
            )
        };
        for (text, expected) in table {
            let (first, second) = KindQuery::readings(text);
            let second = second.map(|second| format!(" | {}", shown(&second)));
            let found = shown(&first) + &second.unwrap_or_default();
            assert_eq!(found, expected, "{text}");
        }
    }
}
