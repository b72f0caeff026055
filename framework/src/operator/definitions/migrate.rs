use std::{io, process::ExitCode};

use crate::{
    client::{Client, KubeconfigOptions},
    crd::{self, Migrated},
    operator::{Operator, OperatorError, moving::Report},
    resource::Object,
};

impl Operator {
    /// The command `crd migrate`.
    pub(in crate::operator) fn migrate_objects(
        self,
        kubeconfig: KubeconfigOptions,
    ) -> Result<ExitCode, OperatorError> {
        let (setup, stopping) = (self.command_setup(kubeconfig), self.stopping.clone());
        let definitions = self.definitions()?;
        let names = definitions.iter().map(|one| one.name().to_owned());
        let (operator, names) = (self.name.clone(), names.collect::<Vec<_>>());
        Self::in_cluster(setup, "crd migrate", stopping, async move |client| {
            let mut output = io::stdout();
            let mut report = Report::new(&mut output);
            run(&client, &operator, &names, &mut report).await
        })
    }
}

/// Migrates the objects of these definitions, one kind after the other.
async fn run(
    client: &Client,
    operator: &str,
    names: &[String],
    report: &mut Report<'_>,
) -> Result<(), OperatorError> {
    for name in names {
        let mut shown = Ok(());
        let migrated = crd::migrate(client, name, operator, |progress| {
            let more = match progress.remaining {
                Some(remaining) => format!(", about {remaining} remain"),
                None => String::new(),
            };
            let line = report.line(format!("{name}: {} objects{more}", progress.done));
            shown = std::mem::replace(&mut shown, Ok(())).and(line);
        });
        let Migrated {
            version,
            removed,
            written,
            skipped,
        } = migrated.await?;
        shown?;
        report.line(match removed.is_empty() {
            true => format!("{name}: all objects are stored as {version}"),
            false => format!(
                "{name}: all objects are stored as {version} now, none as {} ({written} written, {skipped} already up to date)",
                removed.join(", ")
            ),
        })?;
    }
    Ok(())
}
