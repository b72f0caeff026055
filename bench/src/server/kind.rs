//! The API names of the generated kinds.

use crate::generator::Kind;

impl Kind {
    /// The kind.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::ConfigMap => "ConfigMap",
            Self::Widget => "Widget",
        }
    }

    /// Group and version.
    pub(super) fn api_version(self) -> &'static str {
        match self {
            Self::Pod | Self::ConfigMap => "v1",
            Self::Widget => "bench.pilothouse.dev/v1",
        }
    }

    /// The path of the list.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Pod => "/api/v1/pods",
            Self::ConfigMap => "/api/v1/configmaps",
            Self::Widget => "/apis/bench.pilothouse.dev/v1/widgets",
        }
    }
}
