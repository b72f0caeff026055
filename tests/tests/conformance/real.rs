//! The real API server that the answers are compared with.

use pilothouse::client::{Client, Config, KubeconfigOptions};
use pilothouse_tests::real::RealServer;

/// Nothing but the tests may change the objects of the tests.
const CONTROLLERS: &str = "--controllers=garbage-collector-controller,namespace-controller";

/// A connection to a real API server, which ends with it when it is ours.
pub(crate) struct Real {
    pub(crate) client: Client,
    _server: RealServer,
}

impl Real {
    /// The server that the environment names, or none.
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
