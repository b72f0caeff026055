//! Words of a name, and identifiers made of them.

/// Words that cannot be the name of a field.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// The words of a name in lower case: `clusterIPs` has `cluster` and `ips`, and `HTTPRoute` has `http` and `route`.
pub(super) fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let previous = at.checked_sub(1).map(|at| letters[at]);
        let next = letters.get(at + 1);
        // The plural of an abbreviation is no new word: `IPs`.
        let is_plural = next == Some(&'s')
            && letters
                .get(at + 2)
                .is_none_or(|after| !after.is_ascii_lowercase());
        let begins = letter.is_ascii_uppercase()
            && previous.is_some_and(|previous| {
                !previous.is_ascii_uppercase()
                    || (next.is_some_and(char::is_ascii_lowercase) && !is_plural)
            });
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The name of a type or of a variant: `clusterIPs` becomes `ClusterIps`. A digit at the begin gets a `V`. Empty if the name has no letter and
/// no digit.
pub(super) fn type_name(name: &str) -> String {
    let mut joined = String::new();
    for word in words(name) {
        let mut letters = word.chars();
        joined.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        joined.push_str(letters.as_str());
    }
    if joined.starts_with(|first: char| first.is_ascii_digit()) {
        joined.insert(0, 'V');
    }
    joined
}

/// The name of a field or of a module: `clusterIPs` becomes `cluster_ips`, and `type` becomes `type_`.
pub(super) fn field_name(name: &str) -> String {
    let mut joined = words(name).join("_");
    if joined.is_empty() {
        joined.push_str("field");
    }
    if joined.starts_with(|first: char| first.is_ascii_digit()) {
        joined.insert_str(0, "n_");
    }
    if KEYWORDS.contains(&joined.as_str()) {
        joined.push('_');
    }
    joined
}

/// The name that serde gives a field with `rename_all = "camelCase"`.
pub(super) fn camel_case(field: &str) -> String {
    let mut name = String::new();
    let mut begins = false;
    for letter in field.chars() {
        if letter == '_' {
            begins = true;
        } else if begins && !name.is_empty() {
            name.push(letter.to_ascii_uppercase());
            begins = false;
        } else {
            name.push(letter.to_ascii_lowercase());
            begins = false;
        }
    }
    name
}

/// The name of one item of a list with this name: `rules` becomes `rule`.
pub(super) fn singular(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let same = [
        "ss",
        "us",
        "is",
        "series",
        "tls",
        "dns",
        "nfs",
        "aws",
        "kubernetes",
    ];
    if same.iter().any(|end| lower.ends_with(end)) {
        return name.to_owned();
    }
    if let Some(stem) = name.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    for ending in ["sses", "shes", "ches", "xes"] {
        if lower.ends_with(ending) {
            return name[..name.len() - 2].to_owned();
        }
    }
    match name.strip_suffix('s') {
        Some(stem) if stem.len() > 1 => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// The name with a number behind it, if it is taken.
pub(super) fn distinct(name: String, separator: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(&name) {
        return name;
    }
    let mut number = 2_u32;
    loop {
        let next = format!("{name}{separator}{number}");
        if !is_taken(&next) {
            return next;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers_in_the_style_of_rust() {
        for (name, field, type_) in [
            ("privateKey", "private_key", "PrivateKey"),
            ("clusterIPs", "cluster_ips", "ClusterIps"),
            ("podCIDRBlocks", "pod_cidr_blocks", "PodCidrBlocks"),
            ("HTTPRoute", "http_route", "HttpRoute"),
            ("type", "type_", "Type"),
            ("self", "self_", "Self"),
            ("$ref", "ref_", "Ref"),
            ("x-kubernetes-map", "x_kubernetes_map", "XKubernetesMap"),
            ("3scale", "n_3scale", "V3scale"),
            ("größe", "gr_e", "GrE"),
            ("", "field", ""),
            ("*", "field", ""),
        ] {
            assert_eq!(field_name(name), field, "{name}");
            assert_eq!(type_name(name), type_, "{name}");
        }
    }

    #[test]
    fn the_name_that_serde_makes_is_known() {
        for (field, name) in [
            ("private_key", "privateKey"),
            ("type_", "type"),
            ("n_3scale", "n3scale"),
            ("cluster_ips", "clusterIps"),
        ] {
            assert_eq!(camel_case(field), name);
        }
    }

    #[test]
    fn an_item_of_a_list_has_the_singular() {
        for (list, item) in [
            ("rules", "rule"),
            ("policies", "policy"),
            ("matches", "match"),
            ("addresses", "address"),
            ("status", "status"),
            ("tls", "tls"),
            ("podIPs", "podIP"),
            ("analysis", "analysis"),
            ("headers", "header"),
            ("s", "s"),
        ] {
            assert_eq!(singular(list), item);
        }
    }
}
