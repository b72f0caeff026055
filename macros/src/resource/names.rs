use std::fmt;

/// Checks a group: a DNS subdomain with at least one dot. The API server requires this of a custom kind.
pub(super) fn check_group(group: &str) -> Result<(), String> {
    if !group.contains('.') {
        return Err(format!(
            "the group `{group}` must contain a dot: use a domain of yours, such as `{}.example.com`",
            if group.is_empty() { "demo" } else { group }
        ));
    }
    if group.len() > 253 || !group.split('.').all(is_dns_label) {
        return Err(format!(
            "the group `{group}` is not a DNS name: use lower-case letters, digits and `-`, separated by dots"
        ));
    }
    Ok(())
}

/// Checks a version: `v1`, `v2beta1`, `v1alpha3`.
pub(super) fn check_version(version: &str) -> Result<(), String> {
    let parsed = version.strip_prefix('v').is_some_and(|rest| {
        let (major, stage) = match rest.find(|c: char| !c.is_ascii_digit()) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let minor = stage
            .strip_prefix("alpha")
            .or_else(|| stage.strip_prefix("beta"));
        is_number(major) && (stage.is_empty() || minor.is_some_and(is_number))
    });
    if parsed {
        return Ok(());
    }
    Err(format!(
        "the version `{version}` does not have Kubernetes' form: write one such as `v1`, `v1beta1` or `v2alpha3`"
    ))
}

/// Checks a kind: letters and digits in CamelCase.
pub(super) fn check_kind(kind: &str) -> Result<(), String> {
    let camel = kind.starts_with(|c: char| c.is_ascii_uppercase())
        && kind.chars().all(|c| c.is_ascii_alphanumeric())
        && kind.len() <= 63;
    if camel {
        return Ok(());
    }
    Err(format!(
        "the kind `{kind}` is not in CamelCase: begin with a capital letter, and use only letters and digits, at most 63"
    ))
}

/// Checks a DNS label: the plural, the singular, a short name or a category.
pub(super) fn check_label(what: impl fmt::Display, name: &str) -> Result<(), String> {
    if is_dns_label(name) {
        return Ok(());
    }
    Err(format!(
        "the {what} `{name}` is not a DNS label: use at most 63 lower-case letters, digits and `-`"
    ))
}

/// Checks the key of a label or an annotation: a name, with a DNS subdomain and `/` before it if it has a prefix.
pub(super) fn check_qualified(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_prefix = |prefix: &str| prefix.len() <= 253 && prefix.split('.').all(is_dns_label);
    if prefix.is_none_or(is_prefix) && is_qualified_part(name) {
        return Ok(());
    }
    Err(format!(
        "the key `{key}` is not one of a label or an annotation: write it as `example.com/name`"
    ))
}

/// Whether `text` can be the value of a label, or the part of a key after `/`.
pub(super) fn is_qualified_part(text: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Endings of English words with a plural of their own. They end longer names, too: `bookshelf` → `bookshelves`.
const ENDINGS: [(&str, &str); 22] = [
    ("calf", "calves"),
    ("half", "halves"),
    ("elf", "elves"),
    ("wolf", "wolves"),
    ("leaf", "leaves"),
    ("loaf", "loaves"),
    ("thief", "thieves"),
    ("dwarf", "dwarves"),
    ("scarf", "scarves"),
    ("wharf", "wharves"),
    ("ife", "ives"),
    ("datum", "data"),
    ("index", "indices"),
    ("matrix", "matrices"),
    ("vertex", "vertices"),
    ("child", "children"),
    ("person", "people"),
    ("quiz", "quizzes"),
    ("sis", "ses"),
    ("series", "series"),
    ("species", "species"),
    ("news", "news"),
];

/// The English plural of a lower-case kind: `website` → `websites`, `policy` → `policies`, `shelf` → `shelves`, `index` → `indices`. For these words
/// kubebuilder has the same plurals. A word without a rule gets an `s`: `roof` → `roofs`.
pub(super) fn plural(singular: &str) -> String {
    let own = ENDINGS.iter().find_map(|(ending, plural)| {
        let stem = singular.strip_suffix(ending)?;
        Some(format!("{stem}{plural}"))
    });
    if let Some(own) = own {
        return own;
    }
    if let Some(stem) = singular.strip_suffix('y')
        && !stem.ends_with(['a', 'e', 'i', 'o', 'u'])
        && !stem.is_empty()
    {
        return format!("{stem}ies");
    }
    let hissing = ["s", "x", "z", "ch", "sh"]
        .iter()
        .any(|ending| singular.ends_with(ending));
    format!("{singular}{}", if hissing { "es" } else { "s" })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_dns_label(label: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = label.as_bytes();
    bytes.len() <= 63
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_english() {
        for (singular, expected) in [
            ("website", "websites"),
            ("policy", "policies"),
            ("gateway", "gateways"),
            ("ingress", "ingresses"),
            ("box", "boxes"),
            ("switch", "switches"),
            ("mesh", "meshes"),
            ("shelf", "shelves"),
            ("bookshelf", "bookshelves"),
            ("wolf", "wolves"),
            ("knife", "knives"),
            ("roof", "roofs"),
            ("tariff", "tariffs"),
            ("proxy", "proxies"),
            ("index", "indices"),
            ("datum", "data"),
            ("series", "series"),
            ("analysis", "analyses"),
        ] {
            assert_eq!(plural(singular), expected);
        }
    }

    #[test]
    fn versions_have_kubernetes_form() {
        for good in ["v1", "v10", "v1alpha1", "v2beta13"] {
            assert!(check_version(good).is_ok(), "{good}");
        }
        for bad in [
            "", "1", "v", "v0", "v1.0", "v1rc1", "v1beta", "V1", "v1alpha0",
        ] {
            assert!(check_version(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_are_qualified_names() {
        for good in ["team", "example.com/Team_1", "a.b"] {
            assert!(check_qualified(good).is_ok(), "{good}");
        }
        for bad in ["", "/", "a/", "/a", "A.dev/b", "a b", "-a", "a/b/c"] {
            assert!(check_qualified(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn groups_are_domains() {
        assert!(check_group("demo.pilothouse.dev").is_ok());
        for bad in ["", "demo", "Demo.dev", ".dev", "demo..dev", "demo_x.dev"] {
            assert!(check_group(bad).is_err(), "{bad}");
        }
    }
}
