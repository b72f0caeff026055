use std::{io, process::ExitCode};

use crate::{
    client::{Api, Client, KubeconfigOptions},
    crd::{self, Applied, CustomResourceDefinition},
    operator::{Operator, OperatorError, definition_check::conversion_note, moving::Report},
    resource::Object,
};

impl Operator {
    /// The command `crd install`.
    pub(in crate::operator) fn install_definitions(
        self,
        kubeconfig: KubeconfigOptions,
        is_forced: bool,
    ) -> Result<ExitCode, OperatorError> {
        let (setup, stopping) = (self.command_setup(kubeconfig), self.stopping.clone());
        let install = DefinitionInstall {
            definitions: self.checked_definitions()?,
            operator: self.name,
            is_forced,
        };
        Self::in_cluster(setup, "crd install", stopping, async move |client| {
            let mut output = io::stdout();
            let mut report = Report::new(&mut output);
            install.run(&client, &mut report).await
        })
    }
}

/// Installs the definitions of an operator.
struct DefinitionInstall {
    operator: String,
    definitions: Vec<CustomResourceDefinition>,
    is_forced: bool,
}

impl DefinitionInstall {
    /// # Errors
    /// [`OperatorError::NotInstalled`] if stored objects or clients would lose something. The error of a request that failed.
    async fn run(&self, client: &Client, report: &mut Report<'_>) -> Result<(), OperatorError> {
        let present = self.present(client).await?;
        let known: Vec<_> = present.iter().flatten().cloned().collect();
        let changes = crd::breaking_changes(&known, &self.definitions);
        let lines = changes.iter().map(ToString::to_string);
        if self.is_forced {
            for line in lines {
                report.line(format!("ignored: {line}"))?;
            }
        } else if !changes.is_empty() {
            return Err(OperatorError::NotInstalled {
                changes: lines.map(|line| line.replace('\n', "\n  ")).collect(),
                command: format!("{} crd install --force", self.operator),
            });
        }
        let applied = crd::apply(client, &self.definitions, &self.operator, &present).await?;
        for (definition, applied) in self.definitions.iter().zip(applied) {
            let done = match applied {
                Applied::Created => "created",
                Applied::Changed => "changed",
                Applied::Unchanged => "unchanged",
            };
            report.line(format!(
                "customresourcedefinition.apiextensions.k8s.io/{} {done}",
                definition.name()
            ))?;
            if applied == Applied::Created
                && let Some(note) = conversion_note(definition)
            {
                report.line(note)?;
            }
        }
        Ok(())
    }

    /// The definitions of these names in the cluster, in the same order.
    async fn present(
        &self,
        client: &Client,
    ) -> Result<Vec<Option<CustomResourceDefinition>>, OperatorError> {
        let api = Api::<CustomResourceDefinition>::all(client);
        let mut all = Vec::new();
        for definition in &self.definitions {
            all.push(api.get_opt(definition.name()).await?);
        }
        Ok(all)
    }
}
