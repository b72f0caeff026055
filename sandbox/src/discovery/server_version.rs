use serde_json::{Value, json};

use crate::builtin;

/// `/version`: the Kubernetes release whose kinds are served.
pub(crate) fn server_version() -> Value {
    let version = builtin::source().rsplit(' ').next().unwrap_or_default();
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next(), parts.next());
    let (major, minor) = (major.unwrap_or_default(), minor.unwrap_or_default());
    let before = minor
        .parse::<u32>()
        .map_or(0, |minor| minor.saturating_sub(1));
    json!({
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": before.to_string(),
        "gitVersion": format!("{version}+pilothouse"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

#[cfg(test)]
mod tests {
    use super::server_version;

    #[test]
    fn the_version_is_that_of_the_embedded_data() {
        let version = server_version();
        assert_eq!(version["major"], "1");
        let text = version["gitVersion"].as_str().unwrap();
        let minor = version["minor"].as_str().unwrap();
        assert!(text.starts_with(&format!("v1.{minor}.")), "{text}");
    }
}
