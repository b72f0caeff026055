//! The API names of the generated kinds.

use crate::generator::Kind;

impl Kind {
    /// The kinds of `--shape`, in their order.
    pub(crate) const SHAPES: [Self; 6] = [
        Self::Pod,
        Self::Node,
        Self::LargeSecret,
        Self::Widget,
        Self::ConfigMap,
        Self::SmallConfigMap,
    ];

    /// All kinds: those of `--shape`, and one that is only cached beside others.
    pub(crate) const ALL: [Self; 7] = [
        Self::Pod,
        Self::Node,
        Self::LargeSecret,
        Self::Widget,
        Self::ConfigMap,
        Self::SmallConfigMap,
        Self::Secret,
    ];

    /// Its name for `--shape`, for the server's options and for peers. Kinds with the same API kind have different names.
    pub(crate) fn shape(self) -> &'static str {
        match self {
            Self::Pod => "pods",
            Self::Node => "nodes",
            Self::LargeSecret => "secrets",
            Self::Widget => "custom",
            Self::ConfigMap => "configmaps",
            Self::SmallConfigMap => "small",
            Self::Secret => "usual-secrets",
        }
    }

    /// Its name in headings.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Pod => "Pods",
            Self::Node => "Nodes",
            Self::LargeSecret => "large Secrets",
            Self::Widget => "custom resources",
            Self::ConfigMap => "ConfigMaps",
            Self::SmallConfigMap => "small ConfigMaps",
            Self::Secret => "Secrets",
        }
    }

    /// The kind.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::LargeSecret | Self::Secret => "Secret",
            Self::Widget => "Widget",
            Self::ConfigMap | Self::SmallConfigMap => "ConfigMap",
        }
    }

    /// Group and version.
    pub(super) fn api_version(self) -> &'static str {
        match self {
            Self::Widget => "bench.pilothouse.dev/v1",
            _ => "v1",
        }
    }

    /// The path of the list.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Pod => "/api/v1/pods",
            Self::Node => "/api/v1/nodes",
            Self::LargeSecret | Self::Secret => "/api/v1/secrets",
            Self::Widget => "/apis/bench.pilothouse.dev/v1/widgets",
            Self::ConfigMap | Self::SmallConfigMap => "/api/v1/configmaps",
        }
    }

    /// Whether the kind is built into API servers, so that it has a protobuf form.
    pub(crate) fn is_built_in(self) -> bool {
        self != Self::Widget
    }

    /// Returns the kind with this name for `--shape`.
    pub(crate) fn of_shape(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.shape() == name)
    }
}
