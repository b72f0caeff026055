//! What the command `version` and the flag `--version` print.

/// The minor versions of Kubernetes that the framework supports: the newest four.
const KUBERNETES: (u32, u32) = (34, 37);

/// The features of the framework, and whether this program is built with them.
const FEATURES: [(&str, bool); 10] = [
    ("anyhow", cfg!(feature = "anyhow")),
    ("cbor", cfg!(feature = "cbor")),
    ("clap-derive", cfg!(feature = "clap-derive")),
    ("dev", cfg!(feature = "dev")),
    ("k8s-descriptions", cfg!(feature = "k8s-descriptions")),
    ("k8s-latest", cfg!(feature = "k8s-latest")),
    ("otel", cfg!(feature = "otel")),
    ("self-signed", cfg!(feature = "self-signed")),
    ("streams", cfg!(feature = "streams")),
    ("zstd", cfg!(feature = "zstd")),
];

/// The versions of the program and of what it was built with, one a line. The first line begins with the program's version.
pub(super) fn text(program: Option<&str>) -> String {
    let program = program.unwrap_or("without a version");
    let (oldest, newest) = KUBERNETES;
    let features: Vec<&str> = FEATURES
        .iter()
        .filter_map(|(name, is_on)| is_on.then_some(*name))
        .collect();
    let features = match features.is_empty() {
        true => "none".to_owned(),
        false => features.join(", "),
    };
    format!(
        "{program}\npilothouse {} (features: {features})\nKubernetes 1.{oldest} to 1.{newest} (types: {})",
        env!("CARGO_PKG_VERSION"),
        env!("PILOTHOUSE_KUBERNETES")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_supported_versions_of_kubernetes_are_the_newest_four() {
        let (oldest, newest) = KUBERNETES;
        assert_eq!(newest - oldest, 3);
        if cfg!(feature = "k8s-latest") {
            assert_eq!(env!("PILOTHOUSE_KUBERNETES"), format!("1.{newest}"));
        }
    }

    #[test]
    fn the_list_of_features_is_that_of_the_package() {
        let package = include_str!("../../Cargo.toml");
        let features = package.split("[features]").nth(1).unwrap_or_default();
        let features = features.split("\n[").next().unwrap_or_default();
        let mut names: Vec<&str> = features
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| Some(line.split_once(" = ")?.0))
            .filter(|name| *name != "default")
            .collect();
        names.sort_unstable();
        assert_eq!(FEATURES.map(|(name, _)| name).to_vec(), names);
    }
}
