use super::Installation;

/// Where an operator serves metrics and health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) port: u16,
    pub(crate) is_secure: bool,
    /// Whether nobody can verify the certificate.
    pub(crate) is_self_signed: bool,
    /// The folder of the certificate and its key, into which a Secret is mounted.
    pub(crate) certificate: Option<String>,
    /// Whether only authorized users can read the metrics.
    pub(crate) is_authorized: bool,
}

impl Endpoint {
    /// The name of the port in the container and in the Service.
    pub(super) const PORT: &str = "metrics";

    /// The name of the volume with the certificate, and the end of the name of its Secret.
    pub(super) const CERTIFICATE: &str = "metrics-certificate";

    /// The Secret with the certificate.
    pub(super) fn secret(installation: &Installation) -> String {
        format!("{}-{}", installation.name, Self::CERTIFICATE)
    }

    /// `http` or `https`.
    pub(super) fn scheme(&self) -> &'static str {
        match self.is_secure {
            true => "https",
            false => "http",
        }
    }
}
