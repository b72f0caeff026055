//! The two servers that the scenarios share.

use std::{any::Any, fs::File, panic::AssertUnwindSafe, path::PathBuf, sync::Arc};

use futures_util::FutureExt;
use pilothouse::{
    client::{Client, Config, KubeconfigOptions},
    testing::Cluster,
};
use pilothouse_sandbox::{HttpsServer, Sandbox};
use pilothouse_tests::{
    containers,
    real::{RealNode, RealServer},
};
use tempfile::TempDir;

use crate::{
    comparison::{self, Difference},
    kubectl::Kubectl,
    run::{Answer, Run},
    scenarios::Scenario,
    stored_answers,
};

/// Which controllers run beside the API servers, and what these offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Beside {
    /// Only those that do not change the objects of the tests.
    Few,
    /// Those whose work is compared. Nobody runs the Pods of a node that has no kubelet.
    Workloads,
    /// The few, and the servers speak CBOR. By default a real server does not.
    Cbor,
    /// The few, and a node: a kubelet's HTTP server and a simulator, both with the programs of this machine.
    Kubelet,
}

impl Beside {
    pub(crate) const ALL: [Self; 4] = [Self::Few, Self::Workloads, Self::Cbor, Self::Kubelet];

    /// The arguments of the real server.
    fn of_real(self) -> &'static [&'static str] {
        const FEW: &str = "--controllers=garbage-collector-controller,namespace-controller";
        match self {
            Self::Few | Self::Kubelet => &[FEW, "--audit"],
            Self::Cbor => &[FEW, "--audit", "--feature-gates=CBORServingAndStorage=true"],
            Self::Workloads => &[
                "--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller,\
                 replicaset-controller,endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller,\
                 clusterrole-aggregation-controller,disruption-controller,service-cidr-controller",
                "--audit",
            ],
        }
    }
}

/// A sandbox, and a real API server unless all its answers are stored. If the real server is our own, it ends when this is
/// dropped.
pub(crate) struct Servers {
    sandbox: Server,
    real: Option<Server>,
    _cluster: Cluster,
    _https: HttpsServer,
    _node: Option<RealNode>,
    _server: Option<RealServer>,
    _folder: TempDir,
}

/// How scenarios reach a server.
pub(crate) struct Server {
    pub(crate) client: Client,
    pub(crate) kubectl: Arc<Kubectl>,
    /// Where it logs requests.
    pub(crate) audit: Option<PathBuf>,
}

/// The answers of the real server to a scenario, and how those of the sandbox differ.
pub(crate) struct Compared {
    pub(crate) answers: Vec<Answer>,
    /// Each with its case.
    pub(crate) differences: Vec<(String, Difference)>,
}

impl Servers {
    /// Starts the sandbox and, if it is needed, the real server that the environment names. Returns `None` if it names none.
    pub(crate) async fn start(beside: Beside, needs_real: bool) -> Option<Self> {
        let server = match needs_real {
            true => Some(RealServer::from_environment(beside.of_real())?),
            false => None,
        };
        let node = match &server {
            Some(server) if beside == Beside::Kubelet => Some(server.serve_node(containers::NODE)),
            _ => None,
        };
        let real = match &server {
            Some(server) => Some(Server::real(server.kubeconfig().to_owned()).await),
            None => None,
        };
        let folder = tempfile::tempdir().unwrap();
        let audit = folder.path().join("audit.log");
        let sandbox = Sandbox::builder()
            .rbac(true)
            .simulator(matches!(beside, Beside::Workloads | Beside::Kubelet))
            .cbor(beside == Beside::Cbor)
            .audit(File::create(&audit).unwrap());
        let cluster = Cluster::with(sandbox).unwrap();
        if beside == Beside::Kubelet {
            containers::register(cluster.sandbox(), folder.path());
            containers::attach_to_cat(cluster.sandbox(), folder.path());
        }
        let https = cluster.sandbox().serve_https(([127, 0, 0, 1], 0).into());
        let https = https.await.unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, cluster.sandbox().kubeconfig(&https)).unwrap();
        Some(Self {
            sandbox: Server {
                client: cluster.client().clone(),
                kubectl: Arc::new(Kubectl::new(kubeconfig)),
                audit: Some(audit),
            },
            real,
            _cluster: cluster,
            _https: https,
            _node: node,
            _server: server,
            _folder: folder,
        })
    }

    /// Runs a scenario on both servers, or on the sandbox alone if the answers of the real server are stored.
    ///
    /// # Errors
    /// A text that says why the scenario did not finish.
    pub(crate) async fn compare(&self, scenario: &Scenario) -> Result<Compared, String> {
        let name = &scenario.name;
        let real = match (stored_answers::read(name), &self.real) {
            (Some(answers), _) => answers,
            (None, None) => return Err("the real server was not started".into()),
            (None, Some(real)) => {
                let answers = real.answers(scenario).await;
                let answers = answers.map_err(|why| format!("real server: {why}"))?;
                stored_answers::write(name, &answers);
                answers
            }
        };
        let sandbox = self.sandbox.answers(scenario).await;
        let sandbox = sandbox.map_err(|why| format!("sandbox: {why}"))?;
        let differences = comparison::differences(name, &sandbox, &real)?;
        Ok(Compared {
            answers: real,
            differences,
        })
    }
}

impl Server {
    async fn real(kubeconfig: PathBuf) -> Self {
        let options = KubeconfigOptions {
            path: Some(kubeconfig.clone()),
            ..Default::default()
        };
        let config = Config::from_kubeconfig(&options).await.unwrap();
        Self {
            client: Client::new(config).unwrap(),
            audit: Some(kubeconfig.with_file_name("audit.log")).filter(|log| log.exists()),
            kubectl: Arc::new(Kubectl::new(kubeconfig)),
        }
    }

    /// Returns the answers to a scenario in a namespace of its own.
    async fn answers(&self, scenario: &Scenario) -> Result<Vec<Answer>, String> {
        let run = async {
            let namespace = scenario.namespace();
            let run = Run::start(self, &namespace).await;
            (scenario.run)(run).await
        };
        let run = AssertUnwindSafe(run).catch_unwind().await;
        run.map(|run| run.answers).map_err(message)
    }
}

fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast::<String>().map(|text| *text);
    text.or_else(|panic| panic.downcast::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|_| "a panic without a text".into())
}
