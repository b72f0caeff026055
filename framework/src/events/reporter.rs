use std::{env, fs};

use super::limits::{qualified_name, truncate};

/// The reporter of an event: the API has fields for the controller and for its process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Reporter {
    pub(super) controller: String,
    pub(super) instance: String,
}

impl Reporter {
    /// The longest `reportingInstance`, in bytes.
    const INSTANCE: usize = 128;

    /// This process, with a name as in client-go: `<controller>-<host>`.
    pub(super) fn new(controller: &str) -> Self {
        Self::on(controller, &host())
    }

    fn on(controller: &str, host: &str) -> Self {
        Self {
            controller: qualified_name(controller),
            instance: truncate(format!("{controller}-{host}"), Self::INSTANCE),
        }
    }
}

/// The name of this machine, which in a cluster is the Pod's name; the process ID if it has none.
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
    fn an_instance_is_the_controller_and_its_host_truncated_to_128_bytes() {
        let site = Reporter::on("website/website", "web-0");
        assert_eq!(site.instance, "website/website-web-0");
        assert_eq!(Reporter::on("a", &"b".repeat(200)).instance.len(), 128);
        assert!(!host().is_empty());
    }
}
