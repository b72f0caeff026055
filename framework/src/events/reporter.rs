use std::{env, fs};

use super::limits::{cut, qualified_name};

/// Who records: the API wants the controller's name and which of its processes it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Reporter {
    pub(super) controller: String,
    pub(super) instance: String,
}

impl Reporter {
    /// The longest `reportingInstance`.
    const INSTANCE: usize = 128;

    /// This process, named like client-go's: `<controller>-<host>`.
    pub(super) fn new(controller: &str) -> Self {
        Self::on(controller, &host())
    }

    fn on(controller: &str, host: &str) -> Self {
        Self {
            controller: qualified_name(controller),
            instance: cut(format!("{controller}-{host}"), Self::INSTANCE),
        }
    }
}

/// The Pod's name in a cluster; whatever else tells this process from others elsewhere.
fn host() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = kernel.or_else(|| env::var("HOSTNAME").ok());
    match named.as_deref().map(str::trim) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => std::process::id().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_the_controller_on_its_host_and_never_too_long() {
        let site = Reporter::on("website/website", "web-0");
        assert_eq!(site.instance, "website/website-web-0");
        assert_eq!(Reporter::on("a", &"b".repeat(200)).instance.len(), 128);
        assert!(!host().is_empty());
    }
}
