/// The simple JSON paths from which the `scale` subresource is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The desired replicas: `.spec.replicas`.
    pub spec: String,
    /// The observed replicas: `.status.replicas`.
    pub status: String,
    /// The label selector, if the kind has one. A string in custom resources, a LabelSelector in built-in kinds.
    pub selector: Option<String>,
}
