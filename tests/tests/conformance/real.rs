//! The real API server for the comparison.

use pilothouse::client::{Client, Config, KubeconfigOptions};
use pilothouse_tests::real::RealServer;

/// Only controllers that do not change the objects of the tests.
const CONTROLLERS: &str = "--controllers=garbage-collector-controller,namespace-controller";

/// A connection to a real API server. If the server is our own, it ends when this is dropped.
pub(crate) struct Real {
    pub(crate) client: Client,
    _server: RealServer,
}

impl Real {
    /// Returns the server that the environment names, or `None`.
    pub(crate) async fn from_environment() -> Option<Self> {
        let server = RealServer::from_environment(&[CONTROLLERS])?;
        let options = KubeconfigOptions {
            path: Some(server.kubeconfig().to_owned()),
            ..Default::default()
        };
        let config = Config::from_kubeconfig(&options).await.unwrap();
        Some(Self {
            client: Client::new(config).unwrap(),
            _server: server,
        })
    }
}
