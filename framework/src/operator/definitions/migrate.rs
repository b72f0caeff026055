use std::{io, process::ExitCode};

use crate::{
    client::{Client, KubeconfigOptions},
    crd::{self, Migrated, MigrationProgress},
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
            let text = match progress {
                MigrationProgress::Objects {
                    done,
                    remaining: Some(remaining),
                } => {
                    format!("{done} objects, about {remaining} remain")
                }
                MigrationProgress::Objects { done, .. } => format!("{done} objects"),
                MigrationProgress::ByCluster { elapsed } => format!(
                    "the cluster writes the objects, for {} s so far",
                    elapsed.as_secs()
                ),
                MigrationProgress::NotByCluster { reason } => {
                    format!(
                        "the cluster does not write the objects, so this command does: {reason}"
                    )
                }
            };
            let line = report.line(format!("{name}: {text}"));
            shown = std::mem::replace(&mut shown, Ok(())).and(line);
        });
        let Migrated {
            version,
            removed,
            written,
            skipped,
            by_cluster,
            ..
        } = migrated.await?;
        shown?;
        report.line(match removed.is_empty() {
            true => format!("{name}: all objects are stored as {version}"),
            false => {
                let how = match by_cluster {
                    true => "written by the cluster".to_owned(),
                    false => format!("{written} written, {skipped} already up to date"),
                };
                format!(
                    "{name}: all objects are stored as {version} now, none as {} ({how})",
                    removed.join(", ")
                )
            }
        })?;
    }
    Ok(())
}
