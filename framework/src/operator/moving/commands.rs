use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use super::{
    Report,
    adopt_from::{AdoptFrom, LeaseName},
    uninstall::{Consent, Uninstall},
};
use crate::{
    client::KubeconfigOptions,
    controller::WrittenKinds,
    manifests::is_of_every_cluster,
    operator::{
        Operator, OperatorError,
        command_line::{ManifestsOptions, RolesOptions, UninstallOptions},
        output::Output,
        rbac::RolesSource,
        settings::AdoptFlags,
    },
    server::Address,
};

impl Operator {
    /// The command `uninstall`.
    pub(in crate::operator) fn uninstall(
        self,
        options: UninstallOptions,
    ) -> Result<ExitCode, OperatorError> {
        let setup = self.command_setup(options.kubeconfig.clone());
        let stopping = self.stopping.clone();
        let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let consent = match (options.is_confirmed, is_terminal) {
            (true, _) => Consent::Given,
            (false, true) => Consent::Asked(Box::new(|| {
                let mut line = String::new();
                io::stdin().read_line(&mut line).map(|_| line)
            })),
            (false, false) => Consent::Missing,
        };
        let uninstall = self.prepare_uninstall(options)?;
        Self::in_cluster(setup, "uninstall", stopping, async move |client| {
            let mut output = io::stdout();
            let mut report = Report::new(&mut output);
            uninstall.run(&client, consent, &mut report).await
        })
    }

    /// The command `adopt-from`.
    pub(in crate::operator) fn adopt_from(
        self,
        kubeconfig: KubeconfigOptions,
        flags: AdoptFlags,
        roles: RolesOptions,
    ) -> Result<ExitCode, OperatorError> {
        let (setup, stopping) = (self.command_setup(kubeconfig), self.stopping.clone());
        let adopt_from = self.prepare_adopt_from(flags, roles)?;
        Self::in_cluster(setup, "adopt-from", stopping, async move |client| {
            let mut output = io::stdout();
            let mut report = Report::new(&mut output);
            adopt_from.run(&client, &mut report).await
        })
    }

    pub(super) fn prepare_uninstall(
        self,
        options: UninstallOptions,
    ) -> Result<Uninstall, OperatorError> {
        let operator = self.name.clone();
        let mut roles = options.roles;
        let lease = roles.run.election.as_ref().map(|election| LeaseName {
            namespace: election.namespace.clone(),
            name: election.name.clone(),
        });
        let (operator_namespace, namespaces) =
            (roles.namespace.clone(), roles.run.namespaces.clone());
        // These flags print every object that an installation may have.
        let address = Address {
            host: None,
            port: 8080,
        };
        roles.run.metrics_address = Some(address);
        let serving = &mut roles.run.serving.serving;
        *serving = std::mem::take(serving).authorized();
        roles.run.serving.debug_page = true;
        let certificates = self.webhook_secret(roles.run.webhooks.as_ref());
        let source = self.manifests_source(ManifestsOptions {
            roles,
            image: String::new(),
            replicas: 2,
            creates_namespace: !is_of_every_cluster(&operator_namespace),
            service_monitor: true,
            pod_monitor: true,
            prometheus_rule: true,
            output: Output::Yaml,
            args: Vec::new(),
        })?;
        Ok(Uninstall {
            operator,
            namespaces,
            written: written(&source.roles),
            labels: source.roles.installation.labels(),
            operator_namespace,
            lease,
            certificates,
            is_forced: options.is_forced,
            printed: source.objects()?,
            kubeconfig: options.kubeconfig,
        })
    }

    pub(super) fn prepare_adopt_from(
        self,
        flags: AdoptFlags,
        roles: RolesOptions,
    ) -> Result<AdoptFrom, OperatorError> {
        let (operator, namespaces) = (self.name.clone(), roles.run.namespaces.clone());
        let source = self.roles_with(roles)?;
        Ok(AdoptFrom {
            operator,
            namespaces,
            written: written(&source),
            flags,
        })
    }
}

/// What the controllers write. Says so if that is not known of all.
fn written(source: &RolesSource) -> Vec<WrittenKinds> {
    if source.has_unknown_kind {
        // If standard error is closed, the note cannot be shown.
        let _ = writeln!(
            io::stderr(),
            "note: the kind of a controller is known only when the operator starts: its objects are not looked for"
        );
    }
    source.written.clone()
}
