//! Normalises what kubectl prints.

use std::sync::LazyLock;

use regex::Regex;

/// Patterns of what differs between two runs, and what stands for it. The order matters.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        // klog begins a line of an error with the time and the process.
        (r"(?m)^([EWI])[0-9]{4} [0-9:.]+ +[0-9]+ ", "${1}<log> "),
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "<uid>",
        ),
        (
            r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z",
            "<time>",
        ),
        (
            r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} 20[0-9]{2} [0-9:]{8} [+-][0-9]{4}",
            "<time>",
        ),
        (
            r"20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8}(\.[0-9]+)? [+-][0-9]{4}",
            "<time>",
        ),
        (r#"(resourceVersion"?: ?"?)[0-9]+"#, "${1}<version>"),
        (r"/tmp/(LIVE|MERGED)-[0-9]+/", "${1}/"),
        (r"\b127\.0\.0\.1:[0-9]+\b", "<server>"),
        // Addresses of Services. The spaces after one depend on its length.
        (
            r"\b10\.(9[6-9]|10[0-9]|11[01])\.[0-9]+\.[0-9]+\b *",
            "<address> ",
        ),
        // The ID that a container runtime has for a Pod.
        (r"to pod [0-9a-zA-Z<>_-]+, uid :", "to pod <id>, uid :"),
        // What the sandbox adds to the error for a program that is missing.
        (r" \(a container of the sandbox has no shell[^)]*\)", ""),
        // The port of this machine that kubectl forwards.
        (r"(localPort=)[0-9]+", "${1}<port>"),
        // The ports that a server allots, at the nodes.
        (r"\b3[0-2][0-9]{3}(/TCP|/UDP)\b", "<port>${1}"),
        (r"(nodePort: )3[0-2][0-9]{3}", "${1}<port>"),
        // The signed part of a token, and what it says.
        (
            r"\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+",
            "<token>",
        ),
        // Names that kubectl or a server ends with random letters.
        (
            r"\b(debugger|generated|node-debugger-[a-z-]+)-[a-z0-9]{5}\b",
            "${1}-<random>",
        ),
        (r"CLUSTER-IP +", "CLUSTER-IP "),
        // A version in an error of kubectl.
        (r"(, was )[0-9]+", "${1}<version>"),
        // Ages, alone in a column or in brackets. The spaces after one depend on its length.
        (r"(?m)(^| )[0-9]+(s|ms|m[0-9]*s?)( +|$)", "${1}<age> "),
        // One beside another, whose spaces the row above has taken.
        (r"(?m)(<age> )[0-9]+(s|ms|m[0-9]*s?)( +|$)", "${1}<age> "),
        (r"\([0-9]+(s|ms|m[0-9]*s?)\)", "(<age>)"),
    ]
    .into_iter()
    .map(|(pattern, replacement)| (Regex::new(pattern).unwrap(), replacement))
    .collect()
});

/// Returns a text without what differs between two servers.
pub(crate) fn normalised(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, replacement) in PATTERNS.iter() {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    text
}
