/// Where the `scale` subresource finds its numbers, as simple JSON paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// Wanted replicas: `.spec.replicas`.
    pub spec: String,
    /// Replicas seen: `.status.replicas`.
    pub status: String,
    /// The label selector, if the kind has one. A string for custom resources, a LabelSelector for built-in kinds.
    pub selector: Option<String>,
}
