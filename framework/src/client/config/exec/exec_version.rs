/// The version of `client.authentication.k8s.io` that a credential plugin speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecVersion {
    /// `client.authentication.k8s.io/v1`.
    #[default]
    V1,
    /// `client.authentication.k8s.io/v1beta1`.
    V1Beta1,
}

impl ExecVersion {
    /// The value of `apiVersion`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "client.authentication.k8s.io/v1",
            Self::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let versions = [Self::V1, Self::V1Beta1];
        versions
            .into_iter()
            .find(|version| version.as_str() == text)
    }
}
